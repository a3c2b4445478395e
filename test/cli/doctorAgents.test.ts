import { afterAll, beforeAll, expect, test } from 'vitest'
import { startAgentBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import { commandLine, type CommandLine } from '../support/commands/commandLine.ts'

let board: AgentBoard
let cli: CommandLine

beforeAll(async () => {
  board = await startAgentBoard({
    offering: { fixture: 'offering' },
    'signed-out': { fixture: 'wants-sign-in' },
    missing: { command: ['/nowhere/agent'] },
  })
  await board.client.auth.setup({ email: 'ada@example.org', password: 'correct horse' })
  cli = commandLine({ BOARD_URL: board.url, BOARD_TOKEN: board.token })
})
afterAll(async () => {
  cli.close()
  await board.close()
})

const rowOf = (stdout: string, id: string) =>
  stdout
    .split('\n')
    .find(line => line.startsWith(`${id}\t`))!
    .split('\t')

test('doctor agents starts each agent without a request to its model, and shows version, modes and models', async () => {
  const before = rowOf(await cli.ok(['doctor', 'agents']), 'offering')
  expect([before[2], before[4], before.at(-1)]).toEqual(['', 'unknown', ''])
  const after = rowOf(await cli.ok(['doctor', 'agents', 'offering', '--start']), 'offering')
  expect(after[1]).toContain(process.execPath)
  expect(after.slice(2, 8)).toEqual([
    '1.2.3',
    '',
    'unknown',
    '4: careful, usual, bold, plan',
    '3: small, middle, big',
    'ok (started)',
  ])
  expect(after[8]).toMatch(/^2\d{3}-/)
  expect(await cli.json(['doctor', 'agents', 'offering'])).toMatchObject([
    { id: 'offering', version: '1.2.3', check: { status: 'ok', greeted: false } },
  ])
  expect(rowOf(await cli.ok(['agents', 'providers']), 'offering').slice(-4)).toEqual(['1.2.3', '', 'unknown', '3'])
})

test('a greeting states beforehand that it costs tokens, requires --yes without a terminal, and then reports its cost', async () => {
  const asked = await cli.board(['doctor', 'agents', 'offering', '--greet'])
  expect([asked.code, asked.stdout]).toEqual([2, ''])
  expect(asked.stderr).toContain('offering is asked for one sentence, which costs tokens')
  expect(asked.stderr).toContain('--yes')
  const greeted = await cli.board(['doctor', 'agents', 'offering', '--greet', '--yes'])
  expect([greeted.code, greeted.stderr]).toEqual([0, expect.stringContaining('It cost 7 tokens in, 3 out.')])
  expect(rowOf(greeted.stdout, 'offering')[7]).toMatch(/^ok \(greeted, 7 tokens in, 3 out\): arguments: /)
})

test('doctor agents exits with 1 if a started agent failed, and names it', async () => {
  const failed = await cli.board(['doctor', 'agents', 'offering', 'signed-out', 'missing', '--start'])
  expect(failed.code).toBe(1)
  expect(failed.stderr).toContain('2 of 3 agents failed: ')
  expect(failed.stderr).toMatch(/signed-out \(.*not signed in.*missing \(not installed\)/)
  const [, installed, , , signedIn, , , check] = rowOf(failed.stdout, 'signed-out')
  expect([installed, signedIn, check]).toEqual([
    expect.any(String),
    'false',
    expect.stringMatching(/^failed \(started\): /),
  ])
})

test('doctor agents rejects unknown agents, an unreachable server and users without permission', async () => {
  const run = async (words: string[], env?: Record<string, string>) => cli.board(['doctor', ...words], { env })
  const name = await run(['agents', 'ofering', '--start'])
  expect([name.code, name.stderr]).toEqual([3, expect.stringContaining('did you mean: offering')])
  expect((await run(['agents', '--start', '--fix'])).code).toBe(2)
  expect((await run(['--greet'])).stderr).toContain('board doctor agents --greet')
  expect((await run(['agent'])).stderr).toContain('did you mean: board doctor agents')
  expect((await run(['agents'], { BOARD_URL: 'http://127.0.0.1:1' })).code).toBe(7)
  expect((await run(['agents'], { BOARD_TOKEN: '' })).code).toBe(4)
})

test('doctor shows the default limits of a session, and whether this machine enforces them', async () => {
  const { bounds } = await board.client.agents.sandbox()
  const found = (await cli.json<Array<{ check: string; detail: string }>>(['doctor'])).find(
    ({ check }) => check === 'bounds',
  )!
  expect(bounds.defaults.memoryMiB).toBeGreaterThanOrEqual(1024)
  expect(found.detail).toContain(
    `${bounds.defaults.memoryMiB} MB of memory and ${bounds.defaults.processes} processes per session`,
  )
  expect(found.detail).toContain(
    bounds.kind === 'cgroup' ? 'the kernel enforces the limits' : 'this machine cannot enforce the defaults',
  )
})

test('doctor reports the sandbox of the server, and who can reach the programs of previews', async () => {
  const checks = await cli.json<Array<{ check: string; status: string; detail: string }>>(['doctor'])
  const { kind, reason } = await board.client.agents.sandbox()
  const find = (name: string) => checks.find(({ check }) => check === name)!.detail
  expect(find('sandbox')).toBe(kind === 'none' ? reason : kind)
  expect(find('previews')).toMatch(
    kind === 'bwrap' ? /^only the server reaches/ : /^other accounts of this machine can reach/,
  )
})
