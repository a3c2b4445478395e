import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { eventually } from '../support/waiting/eventually.ts'
import { createRoom, failure, type AgentRoom } from '../support/agents/agent.ts'

let room: AgentRoom
beforeAll(async () => {
  room = await createRoom()
})
beforeEach(() => {
  room.keeping = () => {}
})
afterAll(() => room.close())

const kinds = () => room.heard.updates.map(({ sessionUpdate }) => sessionUpdate)
const started = async (...[name, env, launch, limits]: Parameters<AgentRoom['open']>) => {
  const link = await room.open(name, env, launch, limits)
  await link.start()
  return link
}

describe('a turn', () => {
  test('forwards every update raw and in order, including early ones and unknown kinds', async () => {
    const link = await room.open('well-behaved')
    expect(link.info).toEqual({ name: 'Fixture', version: '1.0.0' })
    const session = await link.start()
    expect(session).toMatchObject({
      resumed: false,
      mode: 'default',
      modes: [
        { id: 'default', name: 'Default' },
        { id: 'plan', name: 'Plan' },
        { id: 'acceptEdits', name: 'Accept edits' },
      ],
    })
    expect(await link.prompt('write it')).toEqual({
      stopReason: 'end_turn',
      usage: { inputTokens: 100, outputTokens: 20 },
    })
    expect(kinds()).toEqual([
      'available_commands_update',
      'plan',
      'agent_thought_chunk',
      'tool_call',
      'tool_call_update',
      'of_a_kind_to_come',
      'plan',
      'usage_update',
      'agent_message_chunk',
      'agent_message_chunk',
    ])
    expect(room.heard.updates).toContainEqual({ sessionUpdate: 'of_a_kind_to_come', payload: 1 })
    expect(room.heard.text()).toBe('I wrote hello.txt as asked.')
    expect(readFileSync(join(room.cwd, 'hello.txt'), 'utf8')).toBe('hello from turn 1\n')
    await link.prompt('again')
    expect(readFileSync(join(room.cwd, 'hello.txt'), 'utf8')).toBe('hello from turn 2\n')
    link.close()
    expect(await link.exited).toEqual({ code: 0, signal: null })
  })

  test('converts session totals of an agent to values per turn', async () => {
    const link = await started('well-behaved', {}, { usageIsCumulative: true })
    expect((await link.prompt('one')).usage).toEqual({ inputTokens: 100, outputTokens: 20 })
    expect((await link.prompt('two')).usage).toEqual({ inputTokens: 0, outputTokens: 0 })
  })

  test('starts in the first requested mode that the agent offers', async () => {
    const link = await room.open('well-behaved', {}, { modes: ['architect', 'acceptEdits', 'plan'] })
    expect(await link.start()).toMatchObject({ mode: 'acceptEdits' })
    expect(room.heard.updates).toContainEqual({ sessionUpdate: 'current_mode_update', currentModeId: 'acceptEdits' })
    await link.setMode('plan')
    expect(room.heard.updates.at(-1)).toEqual({ sessionUpdate: 'current_mode_update', currentModeId: 'plan' })
  })

  test('waits while an update is stored, and loses none of 100,000', async () => {
    const link = await started('flood')
    let keeping = 0
    let maxConcurrent = 0
    let seen = 0
    room.heard.updates.push = () => ++seen
    room.keeping = async () => {
      maxConcurrent = Math.max(maxConcurrent, ++keeping)
      if (seen % 1000 === 0) await new Promise(resolve => setImmediate(resolve))
      keeping--
    }
    const before = process.memoryUsage().rss
    expect(await link.prompt('go')).toMatchObject({ stopReason: 'end_turn' })
    expect([seen, maxConcurrent]).toEqual([100_000, 1])
    expect(process.memoryUsage().rss - before).toBeLessThan(150 * 1024 * 1024)
  })
})

describe('cancelling', () => {
  test('ends a turn that would never end', async () => {
    const link = await started('forever', { FIXTURE_EVERY_MS: '5' })
    const turn = link.prompt('go')
    await eventually('a word', () => room.heard.text().length > 100)
    await link.cancel()
    expect(await turn).toMatchObject({ stopReason: 'cancelled' })
    const next = link.prompt('once more')
    await eventually('more words', () => room.heard.text().split('(1)').length === 3)
    await link.cancel()
    expect(await next).toMatchObject({ stopReason: 'cancelled' })
    await link.cancel()
  })

  test('waits for pending updates of the agent, and treats an error as the end', async () => {
    for (const error of ['', '1']) {
      const link = await started('slow-cancel', { FIXTURE_CANCEL_MS: '50', FIXTURE_CANCEL_ERROR: error })
      const turn = link.prompt('go')
      await eventually('a word', () => room.heard.text() !== '')
      await link.cancel()
      expect(await turn).toMatchObject({ stopReason: 'cancelled' })
      expect(room.heard.text()).toBe('I begin. I stop.')
    }
  })

  test('ends the process of an agent that ignores it', async () => {
    const link = await started('ignores-term')
    const turn = link.prompt('go')
    await eventually('a word', () => room.heard.text() !== '')
    await link.cancel()
    await room.children.at(-1)!.stop({ graceMs: 50, termMs: 50 })
    expect(await turn).toEqual({ stopReason: 'cancelled', usage: null })
    expect(await link.exited).toEqual({ code: null, signal: 'SIGKILL' })
  })

  test('answers an open permission request for the agent', async () => {
    const link = await started('permission-first')
    const turn = link.prompt('go')
    const { id } = await eventually('a question', () => room.heard.permissions[0])
    await link.cancel()
    expect(await turn).toMatchObject({ stopReason: 'cancelled' })
    expect(room.heard.withdrawn).toEqual([id])
    expect(link.answerPermission(id, 'yes')).toBe(false)
  })
})

describe('a permission request', () => {
  test('reports its tool call first, and continues the agent with the selected answer', async () => {
    const link = await started('permission-first')
    const turn = link.prompt('go')
    const request = await eventually('a question', () => room.heard.permissions[0])
    expect(request).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{12}$/),
      toolCallId: 'call-1',
      title: 'Write allowed.txt',
      kind: 'edit',
      options: [
        { id: 'yes', name: 'Allow', kind: 'allow_once' },
        { id: 'always', name: 'Always allow', kind: 'allow_always' },
        { id: 'no', name: 'Reject', kind: 'reject_once' },
      ],
      command: null,
      paths: ['allowed.txt'],
      plan: null,
      about: 'edit',
    })
    expect(room.heard.updates).toEqual([
      {
        sessionUpdate: 'tool_call_update',
        toolCallId: 'call-1',
        title: 'Write allowed.txt',
        kind: 'edit',
        status: 'pending',
        rawInput: { path: 'allowed.txt' },
      },
    ])
    expect(existsSync(join(room.cwd, 'allowed.txt'))).toBe(false)
    expect([
      link.answerPermission(request.id, 'maybe'),
      link.answerPermission('another', 'yes'),
      link.answerPermission(request.id, 'yes'),
      link.answerPermission(request.id, 'no'),
    ]).toEqual([false, false, true, false])
    expect(await turn).toMatchObject({ stopReason: 'end_turn' })
    expect(readFileSync(join(room.cwd, 'allowed.txt'), 'utf8')).toBe('allowed\n')
  })

  test('of a plan has the kind switch_mode, and its rejection leads to the next message', async () => {
    const link = await started('plan-approval')
    const first = link.prompt('refactor it')
    const question = await eventually('a question', () => room.heard.permissions[0])
    expect(question).toMatchObject({ title: 'Ready to code?', kind: 'switch_mode' })
    link.answerPermission(question.id, 'plan')
    await first
    expect(existsSync(join(room.cwd, 'plan.txt'))).toBe(false)
    const second = link.prompt('keep it smaller')
    link.answerPermission((await eventually('a question', () => room.heard.permissions[1])).id, 'go')
    await second
    expect(existsSync(join(room.cwd, 'plan.txt'))).toBe(true)
  })
})

describe('a session', () => {
  test.each([
    ['session/load', {}],
    ['session/load with a replay that continues after the response', { FIXTURE_LATE: '1' }],
    ['session/resume', { FIXTURE_RESUME: '1' }],
    ['session/load where session/resume is only announced', { FIXTURE_RESUME: 'announced' }],
  ])('continues with %s without repeating its history', async (_, env) => {
    const sessions = { FIXTURE_STATE: room.cwd, ...env }
    const first = await room.open('resumable', sessions)
    expect(first.capabilities.resume).toBe(true)
    const { sessionId } = await first.start()
    await first.prompt('remember the milk')
    first.close()
    const second = await room.open('resumable', sessions)
    expect(await second.start(sessionId)).toMatchObject({ sessionId, resumed: true })
    expect(kinds().filter(kind => kind !== 'available_commands_update')).toEqual([])
    await second.prompt('and now?')
    expect(room.heard.text()).toBe('Noted. You said 2 things, the first was: remember the milk')
  })

  test('is replaced by a new session if the agent no longer has it', async () => {
    const link = await room.open('resumable', { FIXTURE_STATE: room.cwd })
    const { sessionId, resumed } = await link.start('gone')
    expect([resumed, sessionId === 'gone']).toEqual([false, false])
    await link.prompt('hello')
    expect(room.heard.text()).toContain('You said 1 things')
  })

  test('signs in with the credential in its environment if the agent requires that, and otherwise reports the missing setting', async () => {
    const link = await started('wants-sign-in', { FIXTURE_KEY: 'k' }, { authMethods: ['other', 'api-key'] })
    expect(await link.prompt('go')).toMatchObject({ stopReason: 'end_turn' })
    const without = await failure(started('wants-sign-in'))
    expect([without.reason, without.message]).toEqual(['launch_failed', expect.stringContaining('not signed in')])
    const wrong = await failure(started('wants-sign-in', {}, { authMethods: ['api-key'] }))
    expect([wrong.reason, wrong.message]).toEqual(['launch_failed', expect.stringContaining('API key')])
  })
})
