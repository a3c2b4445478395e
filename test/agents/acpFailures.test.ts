import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { slowdown } from '../support/waiting/eventually.ts'
import { createRoom, failure, type AgentRoom } from '../support/agents/agent.ts'

let room: AgentRoom
beforeAll(async () => {
  room = await createRoom()
})
beforeEach(() => {
  room.keeping = () => {}
})
afterAll(() => room.close())

const started = async (...[name, env, launch, limits]: Parameters<AgentRoom['open']>) => {
  const link = await room.open(name, env, launch, limits)
  await link.start()
  return link
}

describe('a failure', () => {
  test('of the launch names the missing program, or includes the output of a program that exits immediately', async () => {
    const missing = await failure(room.open('well-behaved', {}, { argv: ['no-such-agent', '--acp'] }))
    expect([missing.reason, missing.message]).toEqual(['launch_failed', 'no-such-agent was not found.'])
    const folder = await failure(room.open('well-behaved', {}, { cwd: join(room.cwd, 'gone') }))
    expect(folder.message).toBe('The folder to work in does not exist.')
    const dead = await failure(room.open('dies-before-initialize', { FIXTURE_EXIT: '7' }))
    expect([dead.reason, dead.message]).toEqual([
      'launch_failed',
      "The agent ended with exit code 7 before its session was open. It wrote: Error: Cannot find module 'agent'",
    ])
    const key = await failure(
      room.open('dies-before-initialize', { FIXTURE_STDERR: 'You have exceeded your monthly quota.' }),
    )
    expect(key.reason).toBe('usage_limit')
  })

  test('contains no secret of the launch', async () => {
    const secret = 'sk-very/secret"key'
    const { message } = await failure(
      room.open(
        'dies-before-initialize',
        {
          FIXTURE_STDERR: `401 for ${secret} at https://x.test/?key=${encodeURIComponent(secret)} {"key":${JSON.stringify(secret)}}`,
        },
        { secrets: [secret] },
      ),
    )
    expect(message).toContain('401 for *** at https://x.test/?key=*** {"key":"***"}')
    const link = await started('usage-limited', { FIXTURE_SAYING: `refused: ${secret}` }, { secrets: [secret] })
    expect((await failure(link.prompt('go'))).message).not.toContain('secret')
  })

  test.each([
    ['lines', 'protocol_violation', 'does not follow the Agent Client Protocol'],
    ['endless', 'protocol_violation', 'more than 16 MiB'],
    ['exit', 'protocol_violation', 'usage: agent [options]'],
    ['html', 'protocol_violation', '502 Bad Gateway'],
  ])('of the protocol is distinguished from a crash: %s', async (kind, reason, words) => {
    const { reason: found, message } = await failure(room.open('rubbish', { FIXTURE_RUBBISH: kind }))
    expect([found, message]).toEqual([reason, expect.stringContaining(words)])
  })

  test("is not caused by occasional other output between the agent's messages", async () => {
    const link = await started('rubbish', { FIXTURE_RUBBISH: 'banner' })
    expect(await link.prompt('go')).toMatchObject({ stopReason: 'end_turn' })
    expect(link.stderrTail()).toContain('Welcome to the agent!')
    expect((await failure((await started('rubbish', { FIXTURE_RUBBISH: 'turn' })).prompt('go'))).reason).toBe(
      'protocol_violation',
    )
  })

  test.each([
    [
      { FIXTURE_EXIT: '3' },
      'crashed',
      'The agent ended with exit code 3 during its turn. It wrote: Segmentation fault',
    ],
    [
      { FIXTURE_EXIT: '0' },
      'crashed',
      'The agent ended with exit code 0 during its turn. It wrote: Segmentation fault',
    ],
    [
      { FIXTURE_SIGNAL: 'SIGKILL' },
      'crashed',
      'The agent was ended by SIGKILL during its turn. It wrote: Segmentation fault',
    ],
    [
      { FIXTURE_STDERR: 'Claude AI usage limit reached|1753077600' },
      'usage_limit',
      'The agent ended with exit code 3 during its turn. It wrote: Claude AI usage limit reached|1753077600',
    ],
  ])('in a turn is reported from the exit status: %j', async (env, reason, message) => {
    const link = await started('crash-in-turn', env as Record<string, string>)
    const before = performance.now()
    const found = await failure(link.prompt('go'))
    expect([found.reason, found.message, room.heard.text()]).toEqual([reason, message, 'I begin.'])
    expect(performance.now() - before).toBeLessThan(1500 * slowdown())
    expect((await failure(link.prompt('again'))).reason).toBe(reason)
  })

  test('of an agent whose tools hold its output open is reported within 2 seconds', async () => {
    const link = await started('dies-with-heirs')
    const before = performance.now()
    expect((await failure(link.prompt('go'))).message).toContain('SIGKILL')
    expect(performance.now() - before).toBeLessThan(2000 * slowdown())
  })

  test.each([
    [{ FIXTURE_LIMIT: 'error' }, 'usage_limit', 'hit your limit'],
    [{ FIXTURE_LIMIT: 'message' }, 'usage_limit', 'hit your limit'],
    [{ FIXTURE_LIMIT: 'exit' }, 'usage_limit', 'hit your limit'],
    [{ FIXTURE_LIMIT: 'refusal' }, 'refused', 'refused to continue'],
    [{ FIXTURE_LIMIT: 'max_tokens' }, 'usage_limit', 'limit of tokens'],
    [{ FIXTURE_LIMIT: 'max_turn_requests' }, 'usage_limit', 'limit of requests'],
    [{ FIXTURE_LIMIT: 'auth' }, 'launch_failed', 'Authentication required'],
    [{ FIXTURE_LIMIT: 'overloaded' }, 'crashed', 'something broke'],
    [{ FIXTURE_LIMIT: 'made_up' }, 'protocol_violation', 'unknown reason (made_up)'],
  ])('of an agent that keeps running is reported from its response: %j', async (env, reason, words) => {
    const found = await failure((await started('usage-limited', env)).prompt('go'))
    expect([found.reason, found.message]).toEqual([reason, expect.stringContaining(words)])
  })

  test('is a timeout if an agent does not respond', async () => {
    const longMs = 60_000
    const greeting = await failure(room.open('silent', {}, {}, { initializeMs: 300, sessionMs: longMs }))
    expect([greeting.reason, greeting.message]).toEqual([
      'timeout',
      'The agent did not answer initialize within 0.3 seconds.',
    ])
    const session = await failure(
      started('silent', { FIXTURE_SILENT_TO: 'session/new' }, {}, { initializeMs: longMs, sessionMs: 400 }),
    )
    expect(session.message).toBe('The agent did not answer session/new within 0.4 seconds.')
  })

  test("to store an agent's message ends its turn", async () => {
    const link = await started('forever', { FIXTURE_EVERY_MS: '5' })
    room.keeping = async () => {
      throw new Error('The disk is full.')
    }
    const found = await failure(link.prompt('go'))
    expect([found.message, (found.cause as Error).message]).toEqual([
      'The output of the agent could not be stored.',
      'The disk is full.',
    ])
  })
})
