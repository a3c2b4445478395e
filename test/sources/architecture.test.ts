import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { findCycles, imports, moduleLayers, room, root, sources, upwardImports } from './imports.ts'

/** The command line is a client: it imports the contract, the client and the configuration. `bin/board.js` passes the server's program to it. */
const cliMayImport = ['src/boardModel', 'cli', 'src/async', 'src/contract', 'src/client', 'src/config', 'src/system']

test('every source file is in a folder with a layer', () => {
  expect(sources.filter(file => room(file) === undefined)).toEqual([])
})

test('docs/architecture.md lists every module once, and no other', () => {
  const table = readFileSync(join(root, 'docs/architecture.md'), 'utf8').matchAll(
    /^\| `((?:src|cli|daemon)\/\w+)` \|/gm,
  )
  const listed = [...table].map(([, module]) => module!)
  const folders = ['src', 'cli', 'daemon'].flatMap(folder =>
    readdirSync(join(root, folder), { withFileTypes: true }).flatMap(entry =>
      entry.isDirectory() ? `${folder}/${entry.name}` : [],
    ),
  )
  expect(listed.toSorted()).toEqual(folders.toSorted())
})

test('imports go down, never up', () => {
  expect(upwardImports.map(({ from, to }) => `${from} -> ${to}`)).toEqual([])
})

test('the command line imports the contract, the client, the model of a board, the configuration, the system and the queues only', () => {
  const foreign = imports
    .filter(
      ({ from, to }) =>
        from.startsWith('cli/') &&
        !to.startsWith('package.json') &&
        !cliMayImport.some(folder => to.startsWith(`${folder}/`)),
    )
    .map(({ from, to }) => `${from} -> ${to}`)
  expect([...new Set(foreign)]).toEqual([])
})

/** The parts of the contract that the page imports at runtime: the schemas stay on the server, which validates the requests. */
const pageMayImport = ['daemon/web', 'src/async', 'src/boardModel', 'src/client', 'src/contract']

test('the page imports only the contract, the client and the model of a board, and no file imports the page', () => {
  const isPage = (file: string) => file.startsWith('daemon/web/')
  const foreign = imports.filter(
    ({ from, to }) =>
      isPage(from) !== isPage(to) && (isPage(to) || !pageMayImport.some(folder => to.startsWith(`${folder}/`))),
  )
  expect(foreign.map(({ from, to }) => `${from} -> ${to}`)).toEqual([])
})

test('the contract imports only itself and valibot', () => {
  const packages = sources
    .filter(file => file.startsWith('src/contract/'))
    .flatMap(file =>
      [...readFileSync(join(root, file), 'utf8').matchAll(/^(?:import|export|\}).* from '([^.'][^']*)'/gm)].map(
        match => match[1],
      ),
    )
  expect([...new Set(packages)]).toEqual(['valibot'])
  expect(imports.filter(({ from, to }) => from.startsWith('src/contract/') && !to.startsWith('src/contract/'))).toEqual(
    [],
  )
})

test('the rules use neither Git nor the disk nor processes', () => {
  const outside = /^src\/(git|worktrees|sandbox|process)\//
  const isRule = (file: string) => file.startsWith('src/domain/')
  expect(imports.filter(({ from, to }) => isRule(from) && outside.test(to))).toEqual([])
  const builtIn = /from 'node:(fs|fs\/promises|child_process|net)'/
  expect(sources.filter(file => isRule(file) && builtIn.test(readFileSync(join(root, file), 'utf8')))).toEqual([])
})

test('files do not import each other in a cycle, also not through types and import()', () => {
  expect(findCycles(imports)).toEqual([])
})

test('folders do not import each other in a cycle', () => {
  const between = imports.flatMap(({ from, to }) => {
    const rooms = { from: room(from)!, to: room(to) }
    return rooms.to === undefined || rooms.from === rooms.to ? [] : [{ from: rooms.from, to: rooms.to }]
  })
  expect(findCycles(between)).toEqual([])
})

test('modules form at most 12 layers', () => {
  expect(moduleLayers().length).toBeLessThanOrEqual(12)
})

test('only the operations on worktrees import the code that runs in their sandbox', () => {
  const inside = 'src/worktrees/inside/'
  const others = imports
    .filter(({ from, to }) => to.startsWith(inside) && !from.startsWith(inside))
    .map(({ from }) => from)
  expect([...new Set(others)]).toEqual(['src/worktrees/operations.ts'])
})

test('only the store contains SQL', () => {
  const sql = /\b(SELECT .+ FROM|INSERT INTO|UPDATE \w+ SET|DELETE FROM|PRAGMA)\b/
  expect(
    sources.filter(file => !file.startsWith('src/store/') && sql.test(readFileSync(join(root, file), 'utf8'))),
  ).toEqual([])
})

test('a card is changed in one file, which sends its events', () => {
  expect(
    sources.filter(
      file => !file.startsWith('src/store/') && /\bupdateCard\b/.test(readFileSync(join(root, file), 'utf8')),
    ),
  ).toEqual(['src/domain/cards/cardChanges.ts'])
})

/** Files with synchronous file access: at the start and the end of a server, and where it was measured to be cheaper than the thread pool, or must not be interrupted. */
const mayWaitForFiles = [
  'daemon/main.ts',
  'daemon/process/startServer.ts',
  'src/app.ts',
  'src/config/folders.ts',
  'src/worktrees/worktreeRoot.ts',
  'src/identity/seal.ts',
  'src/store/engine/connection.ts',
  'src/store/engine/embedded.ts',
  'src/store/engine/lock.ts',
  'src/store/server/logs.ts', // a server begins or ends
  'src/backups/restoreBackup.ts',
  'src/backups/replaceDatabase.ts',
  'src/backups/smallFiles.ts',
  'src/backups/unpackArchive.ts',
  'src/backups/writeArchive.ts', // on separate threads
  'src/sandbox/configurationParts.ts', // 2 ms instead of 10, before each process in a sandbox
  'src/logs/files.ts',
  'src/logs/logs.ts',
  'src/logs/rotatingFile.ts', // a crash, and the next of the log's files
  'src/process/table.ts',
  'src/system/kernel.ts', // /proc is memory
  'daemon/process/boundedStderr.ts', // what the server itself prints is cut before more is printed
  'src/worktrees/worktreeProgram.ts', // the only request of its process waits for it
]

test('a request never blocks on a file while others could be answered', () => {
  expect(
    sources.filter(
      file =>
        !file.startsWith('cli/') &&
        !file.startsWith('daemon/web/') &&
        !mayWaitForFiles.includes(file) &&
        /\b[a-z]\w*Sync\b/.test(readFileSync(join(root, file), 'utf8')),
    ),
  ).toEqual([])
})

test('passwords are hashed in one place, off the main thread', () => {
  expect(sources.filter(file => /argon2(?!'\))|scrypt|pbkdf2/.test(readFileSync(join(root, file), 'utf8')))).toEqual([
    'src/identity/passwords.ts',
  ])
  expect(readFileSync(join(root, 'src/identity/passwords.ts'), 'utf8')).not.toMatch(/argon2\.\w+Sync/)
})

test("a route's response is checked against its schema in tests, and not by the server", () => {
  expect(
    sources.filter(
      file => file.startsWith('daemon/') && /\broute\.output\b/.test(readFileSync(join(root, file), 'utf8')),
    ),
  ).toEqual(['daemon/documents/openapiOperation.ts'])
})

test.each(['CONTRIBUTING.md', 'docs/architecture.md'])('%s names existing files', page => {
  const named = [...readFileSync(join(root, page), 'utf8').matchAll(/`((?:src|cli|daemon|test|bin|docs)\/[\w./-]+)`/g)]
  expect(named.length).toBeGreaterThan(5)
  expect(named.map(match => match[1]!).filter(path => !existsSync(join(root, path)))).toEqual([])
})
