import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root, sources } from './imports.ts'

/** State that belongs to the whole process, because it is of the machine or equal for every board. */
const allowed: Record<string, string> = {
  'src/boardModel/boardFilter.ts: texts': 'equal for equal cards, and released with them',
  'src/boardModel/sort.ts: collator': 'the order of the language of this process',
  'src/backups/archiver.ts: program': 'the text of a file of the program, the same for every board',
  'src/transfers/formats/markdownThread.ts: program': 'the text of a file of the program, the same for every board',
  'src/client/certificatePin.ts: agents': 'connections of a client, by the certificate of the server at the other end',
  'src/identity/sandboxSockets.ts: fromSandboxes': 'connections of this process, gone with them',
  'src/git/configuration.ts: kept': 'the content of files of this machine, equal for every board',
  'src/git/git.ts: withSlot': 'git processes use the descriptors and cores of this process, for every board',
  'src/git/fetchUpstream.ts: shared': 'two boards can have projects in one repository folder',
  'src/git/indexLock.ts: takingOver': 'two boards can have projects in one repository folder',
  'src/git/remoteGit.ts: withSlot': 'git processes use the descriptors and cores of this process, for every board',
  'src/git/repositoryLock.ts: withRepositoryLock': 'two boards can have projects in one repository folder',
  'src/recurrence/recurrence.ts: expressions': 'the parsed expression, equal for every board',
  'src/recurrence/wallClock.ts: formats': 'what clocks show, the same for every board',
  'src/store/engine/remote/hranaDecoding.ts: knownColumns': 'by what a database server says, the same for every board',
  'src/store/engine/remote/hranaEncoding.ts: writer': 'the buffer in which a message is written, synchronously',
  'src/store/engine/migrate.ts: objectsByVersion': 'what a version of the schema consists of, the same for every board',
  'src/store/engine/remote/remoteReader.ts: makers': 'by the columns of an answer, and gone with them',
  'src/worktrees/gitGuard.ts: counts': 'two boards can have projects in one folder',
  'src/worktrees/worktreeProgram.ts: applied': 'the settings of this process, which works on one worktree of one board',
  'daemon/http/hostOriginGuard.ts: rulesOf': 'by the configuration of a board',
  'daemon/http/requestId.ts: requests': 'request ids are unique in the process, whose log several boards can share',
  'daemon/peers/peers.ts: agents': 'by board',
  'daemon/documents/openapi.ts: made': 'one document for every board',
}

const makesState =
  /^(?:new \w+(?:<.*>)?\(\)|\[\]|\{\}|(?:create[A-Z]\w*|coalesce|throttle|debounce|once|memoize)(?:<.*>)?\()/
const mutations = 'set|add|push|splice|delete|clear|pop|shift|unshift'

/** The names of module-level variables of a file that can change. In formatted code, module-level statements are not indented. */
function stateOf(source: string): string[] {
  const variables = [...source.matchAll(/^(?:export )?let (\w+)/gm)].map(match => match[1]!)
  const constants = [...source.matchAll(/^(?:export )?const (\w+)(?:: .+?)? =\s+(.*)/gm)]
    .filter(
      ([, name, value]) =>
        makesState.test(value!) ||
        new RegExp(`(?<![.\\w])${name}(?:\\.(?:${mutations})\\(|\\[.+\\] =[^=])`).test(source),
    )
    .map(match => match[1]!)
  const fields = [...source.matchAll(/^ +(?:private )?static (?!readonly|async|\w+\()(#?\w+)/gm)].map(
    match => match[1]!,
  )
  return [...variables, ...constants, ...fields]
}

test('src and daemon keep no process-wide state, except that of the machine', () => {
  const found = sources
    .filter(file => !file.startsWith('cli/') && !file.startsWith('daemon/web/'))
    .flatMap(file => stateOf(readFileSync(join(root, file), 'utf8')).map(name => `${file}: ${name}`))
  expect(found.sort()).toEqual(Object.keys(allowed).sort())
})

test.each([
  'let turn = Promise.resolve()',
  'export let count = 0',
  'const holds = new Map<string, number>()',
  'const stopping: WeakMap<Child, Promise<boolean>> = new WeakMap()',
  'const wanted: Tree[] = []',
  'export const withSlot = createSemaphore(8)',
  'const readMembers = coalesce(() => read())',
  "const known = new Set(['a'])\nexport const learn = (name: string) => known.add(name)",
  'class Pool {\n  static open = 0\n}',
])('%j is state', source => {
  expect(stateOf(source)).toHaveLength(1)
})

test.each([
  'const retryable = new Set([429, 502])\nexport const mayRetry = (status: number) => retryable.has(status)',
  'export function createQueue() {\n  const waiting: string[] = []\n  waiting.push("a")\n}',
  'export const make = () => createQueue()',
])('%j is not state', source => {
  expect(stateOf(source)).toEqual([])
})
