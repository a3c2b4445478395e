import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { createProcessTrees, type ProcessTrees, type SpawnOptions } from '../../src/process/spawn.ts'
import { listProcessRuns } from '../../src/store/agents/processRuns.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { environment, openStore } from '../support/processes/trees.ts'

let store: Awaited<ReturnType<typeof openStore>>
let trees: ProcessTrees
beforeAll(async () => {
  store = await openStore()
  trees = createProcessTrees(store.db)
})
afterAll(() => store.close())

const start = (command: readonly string[], options: Partial<SpawnOptions> = {}) =>
  trees.spawn({ command, cwd: store.folder, env: environment, kind: 'agent', ...options, stdin: 'pipe' })
const records = () => listProcessRuns(store.db)
afterEach(() => eventually('the records to go', async () => (await records()).length === 0))

test('a program gets the given environment and its run, and no variables of the server', async () => {
  const child = await start(['env'])
  const variables = (await text(child.stdout)).trim().split('\n')
  expect(variables.sort()).toEqual([
    `BOARD_RUN_ID=${child.runId}`,
    `HOME=${environment.HOME}`,
    `PATH=${environment.PATH}`,
  ])
  expect(await child.exited).toEqual({ code: 0, signal: null })
})

test('a run is recorded with its process while it lives, and not after', async () => {
  const child = await start(['cat'], { kind: 'terminal', runId: 'a-run' })
  expect(child.runId).toBe('a-run')
  const [row] = await eventually('the process to be noted', async () => {
    const rows = await records()
    return rows[0]?.pid ? rows : undefined
  })
  expect(row).toMatchObject({
    runId: 'a-run',
    kind: 'terminal',
    pid: child.pid,
    pidStartedAt: expect.stringMatching(/^\d+$/),
    bootId: expect.stringMatching(/^[0-9a-f-]{36}$/),
  })
  child.stdin.end()
})

test('a run whose first process has exited stays recorded while any of its processes lives', async () => {
  const child = await start(['sh', '-c', 'sleep 1000 >/dev/null 2>&1 & exit 3'])
  expect(await child.exited).toEqual({ code: 3, signal: null })
  expect((await records()).length).toBe(1)
  expect(await child.stop()).toBe(true)
  expect(await records()).toEqual([])
})

test.each<[string, () => Promise<unknown>, object]>([
  ['a program that does not exist', () => start(['/nowhere/program']), { reason: 'missing' }],
  [
    'a program that is not on the path',
    () => start(['no-such-program', 'a secret']),
    { reason: 'missing', message: 'no-such-program was not found.' },
  ],
  [
    'a file that is not a program',
    () => {
      writeFileSync(join(store.folder, 'plain'), 'x')
      return start([join(store.folder, 'plain')])
    },
    { reason: 'forbidden' },
  ],
  ['a folder that does not exist', () => start(['true'], { cwd: join(store.folder, 'nowhere') }), { reason: 'folder' }],
  ['a NUL in an argument', () => start(['echo', 'a\0b']), { reason: 'failed' }],
  ['no program', () => start([]), { reason: 'missing' }],
])('%s is reported as a failed launch, and leaves no record', async (_, launch, failure) => {
  await expect(launch()).rejects.toMatchObject({ name: 'LaunchFailed', ...failure })
  expect(await records()).toEqual([])
})

test('writing to a program that has exited is not an error', async () => {
  const child = await start(['true'])
  await child.exited
  child.stdin.write('x'.repeat(1_000_000))
  child.stdin.end('y')
  expect(await child.stop()).toBe(true)
})
