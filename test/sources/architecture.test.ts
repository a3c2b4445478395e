import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..')

/** The floor of each folder. Imports go down or stay on the floor. */
const floors: Record<string, number> = {
  'src/contract': 1,
  'src/async': 1,
  'src/config': 1,
  'src/ids': 1,
  'src/client': 2,
  'src/store': 2,
  'src/events': 2,
  'src/git': 2,
  'src/process': 2,
  'src/outside': 2,
  'src/views': 2,
  'src/domain': 3,
  'src/identity': 3,
  cli: 3,
  'src/agents': 4,
  'src/agents/link': 4,
  'src/agents/acp': 4,
  'src/agents/providers': 4,
  'src/agents/transcript': 4,
  'src/agents/sessions': 4,
  'src/webhooks': 4,
  'src/scripts': 4,
  'src/notifications': 4,
  'src/monitors': 4,
  'src/transfers': 4,
  'src/backups': 4,
  'src/logs': 4,
  'src/daemons': 4,
  'src/metrics': 1,
  src: 5,
  daemon: 6,
}
/** The command line is a client: it knows the contract, the client and the configuration. `bin/board.js` hands it the server's program. */
const cliMayImport = ['cli', 'src/async', 'src/contract', 'src/client', 'src/config']

interface Import {
  from: string
  to: string
  line: string
}
const sources = ['src', 'cli', 'daemon']
  .flatMap(folder =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map(file => join(folder, file)),
  )
  .filter(file => /\.tsx?$/.test(file))
const imports: Import[] = sources.flatMap(file =>
  [
    ...readFileSync(join(root, file), 'utf8').matchAll(
      /(?:^|\n)(?:import|export)\b[^'"=(]*?from '(\.[^']+)'|import\('(\.[^']+)'\)/g,
    ),
  ].map(([line, stated, lazy]) => ({
    from: file,
    to: relative(root, resolve(root, dirname(file), stated ?? lazy!)),
    line: line.trim().replaceAll(/\s+/g, ' '),
  })),
)

const room = (file: string) =>
  Object.keys(floors)
    .filter(folder => file.startsWith(`${folder}/`))
    .sort((a, b) => b.length - a.length)[0]
/** Files a room above wires by type only: the application is described where it is wired. */
const typeOnly = ({ line }: Import) => line.startsWith('import type') || /^import \{ (type \w+,? )+\}/.test(line)

test('every source file stands in a room that has a floor', () => {
  expect(sources.filter(file => room(file) === undefined)).toEqual([])
})

test('imports go down, never up', () => {
  const up = imports.filter(
    each =>
      !each.from.startsWith('cli/') &&
      room(each.to) !== undefined &&
      floors[room(each.to)!]! > floors[room(each.from)!]! &&
      !(each.to === 'src/app.ts' && typeOnly(each)),
  )
  expect(up.map(({ from, to }) => `${from} -> ${to}`)).toEqual([])
})

test('the command line imports the contract, the client, the configuration and the queues only', () => {
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

test('the contract imports nothing but itself and valibot', () => {
  const packages = sources
    .filter(file => file.startsWith('src/contract/'))
    .flatMap(file =>
      [...readFileSync(join(root, file), 'utf8').matchAll(/from '([^.'][^']*)'/g)].map(match => match[1]),
    )
  expect([...new Set(packages)]).toEqual(['valibot'])
  expect(imports.filter(({ from, to }) => from.startsWith('src/contract/') && !to.startsWith('src/contract/'))).toEqual(
    [],
  )
})

test('no rooms on one floor import each other in a circle', () => {
  const arrows = new Map<string, Set<string>>()
  for (const each of imports) {
    const [from, to] = [room(each.from), room(each.to)]
    if (from && to && from !== to && !(each.to === 'src/app.ts'))
      arrows.set(from, (arrows.get(from) ?? new Set()).add(to))
  }
  expect([...arrows.keys()].filter(start => reaches(arrows, start, start))).toEqual([])
})

test('only the store knows SQL', () => {
  const sql = /\b(SELECT .+ FROM|INSERT INTO|UPDATE \w+ SET|DELETE FROM|PRAGMA)\b/
  expect(
    sources.filter(file => !file.startsWith('src/store/') && sql.test(readFileSync(join(root, file), 'utf8'))),
  ).toEqual([])
})

test('a card is changed in one file, which tells of it', () => {
  expect(
    sources.filter(
      file => !file.startsWith('src/store/') && /\bupdateCard\b/.test(readFileSync(join(root, file), 'utf8')),
    ),
  ).toEqual(['src/domain/cardChanges.ts'])
})

/** Where a file is read or written while everybody waits: at the start and the end of a server, and where it was measured to be cheaper than a turn of the thread pool, or must not be waited for. */
const mayWaitForFiles = [
  'daemon/main.ts',
  'daemon/process/startServer.ts',
  'src/app.ts',
  'src/config/folders.ts',
  'src/identity/seal.ts',
  'src/store/connection.ts',
  'src/store/embedded.ts',
  'src/store/lock.ts',
  'src/store/logs.ts', // a server begins or ends
  'src/backups/restoring.ts',
  'src/backups/swap.ts',
  'src/backups/unpacking.ts',
  'src/backups/writing.ts', // many small files
  'src/logs/files.ts',
  'src/logs/logs.ts',
  'src/logs/rotatingFile.ts', // a crash, and the next of the log's files
  'src/process/table.ts',
  'src/config/kernel.ts', // /proc is memory
  'daemon/process/boundedStderr.ts', // what the server itself prints is cut before more is printed
  'src/domain/goneWorktrees.ts', // within a transaction
]

test('a request waits for no file while others could be answered', () => {
  expect(
    sources.filter(
      file =>
        !file.startsWith('cli/') &&
        !mayWaitForFiles.includes(file) &&
        /\b[a-z]\w*Sync\b/.test(readFileSync(join(root, file), 'utf8')),
    ),
  ).toEqual([])
})

test('passwords are hashed in one place, off the thread that answers', () => {
  expect(sources.filter(file => /argon2(?!'\))|scrypt|pbkdf2/.test(readFileSync(join(root, file), 'utf8')))).toEqual([
    'src/identity/passwords.ts',
  ])
  expect(readFileSync(join(root, 'src/identity/passwords.ts'), 'utf8')).not.toMatch(/argon2\.\w+Sync/)
})

test('what a route answers is checked against its schema in tests, and not by the server', () => {
  expect(
    sources.filter(
      file => file.startsWith('daemon/') && /\broute\.output\b/.test(readFileSync(join(root, file), 'utf8')),
    ),
  ).toEqual(['daemon/documents/openapiOperation.ts'])
})

function reaches(arrows: Map<string, Set<string>>, from: string, goal: string, seen = new Set<string>()): boolean {
  for (const next of arrows.get(from) ?? []) {
    if (next === goal) return true
    if (!seen.has(next) && (seen.add(next), reaches(arrows, next, goal, seen))) return true
  }
  return false
}
