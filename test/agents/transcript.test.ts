import * as v from 'valibot'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { queryMessages } from '../../src/agents/transcript/messageQuery.ts'
import { openTranscript, type Transcript } from '../../src/agents/transcript/agentTranscript.ts'
import { addMessage, type TranscriptSession } from '../../src/agents/transcript/transcriptWriter.ts'
import type { RawUpdate } from '../../src/agents/link/agentLink.ts'
import { Message } from '../../src/contract/agents/agentMessages.ts'
import { listAnnouncedCommands, readSession } from '../../src/store/agents/sessions.ts'
import type { MessageView } from '../../src/views/agents.ts'
import { newCard, newSession, type TestCard } from '../support/agents/agentRows.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { follow } from '../support/receivers/liveSocket.ts'
import { say, toolCall, toolUpdate } from '../support/agents/updates.ts'

let board: TestBoard
let card: TestCard

beforeAll(async () => {
  let now = Date.now()
  // No two messages have equal start times.
  board = await startBoard({ clock: () => new Date(now++) })
  card = await newCard(board)
})
afterAll(() => board.close())

async function open(): Promise<{
  session: TranscriptSession
  transcript: Transcript
  tell(...updates: RawUpdate[]): Promise<MessageView[]>
}> {
  const session = await newSession(board, card)
  const transcript = openTranscript(board.server.app.db, session)
  return {
    session,
    transcript,
    tell: async (...updates) => {
      for (const update of updates) await transcript.add(update)
      await transcript.finishMessages()
      return messages(session)
    },
  }
}
const messages = ({ id, cardId }: TranscriptSession, limit = 1000) =>
  queryMessages(board.server.app.db, { cardId, sessionId: id, limit })
const said = (all: MessageView[]) => all.map(({ role, content }) => [role, content])

describe("an agent's message", () => {
  it('is written immediately after a silence, and then in batches', async () => {
    const { session, transcript } = await open()
    // Waits until all earlier writes are finished.
    const written = async () => {
      await board.server.app.db.transaction(async () => {})
      return said(await messages(session))
    }
    vi.useFakeTimers({ toFake: ['setTimeout', 'performance'] })
    try {
      await transcript.add(say('One'))
      vi.advanceTimersByTime(0)
      expect(await written()).toEqual([['agent', 'One']])
      await transcript.add(say(', two'))
      vi.advanceTimersByTime(49)
      expect(await written()).toEqual([['agent', 'One']])
      await transcript.add(say(', three'))
      vi.advanceTimersByTime(1)
      expect(await written()).toEqual([['agent', 'One, two, three']])
    } finally {
      vi.useRealTimers()
    }
    await transcript.finishMessages()
  })

  it('is one entry for each run of chunks of one role', async () => {
    const { tell } = await open()
    expect(
      said(
        await tell(
          say('Let me '),
          say('think.'),
          say('Hm', 'agent_thought_chunk'),
          say('.', 'agent_thought_chunk'),
          say('Done.'),
          say('Please', 'user_message_chunk'),
        ),
      ),
    ).toEqual([
      ['agent', 'Let me think.'],
      ['thought', 'Hm.'],
      ['agent', 'Done.'],
      ['user', 'Please'],
    ])
    expect(said(await tell(say('Go', 'user_message_chunk'))).at(-1)).toEqual(['user', 'Go'])
  })

  it('starts a new entry if the agent names another message', async () => {
    const { tell } = await open()
    expect(
      said(
        await tell({ ...say('a'), messageId: '1' }, { ...say('b'), messageId: '1' }, { ...say('c'), messageId: '2' }),
      ),
    ).toEqual([
      ['agent', 'ab'],
      ['agent', 'c'],
    ])
  })

  it('keeps every character: NUL, and a pair of surrogates that was sent in halves', async () => {
    const { transcript, session, tell } = await open()
    await transcript.add(say('a\0b \ud83d'))
    await eventually('the first half', async () => (await messages(session)).length)
    expect(said(await tell(say('\ude00!')))).toEqual([['agent', 'a\0b \u{1f600}!']])
    expect((await readSession(board.server.app.db, session.id))!.messages).toBe(1)
  })

  it('continues in another entry if it gets very long, without loss', async () => {
    const { tell } = await open()
    const text = '0123456789 \u{1f600} '.repeat(15_000)
    const all = await tell(say('x'), say(text), say('the end'))
    expect(all.length).toBeGreaterThan(2)
    expect(all.map(({ content }) => content).join('')).toBe(`x${text}the end`)
    expect(Math.max(...all.map(({ content }) => content.length))).toBeLessThanOrEqual(65_536)
  })

  it('shows images, links and files as a word', async () => {
    const { tell } = await open()
    const block = (content: object): RawUpdate => ({ sessionUpdate: 'agent_message_chunk', content })
    const [message] = await tell(
      block({ type: 'image', mimeType: 'image/png', data: 'AAAA' }),
      block({ type: 'resource_link', name: 'it', uri: 'file:///it' }),
      block({ type: 'resource', resource: { uri: 'file:///x', text: 'inside' } }),
    )
    expect(message!.content).toBe('[image image/png][it](file:///it)inside')
  })

  it('is one entry with all its updates', async () => {
    const { tell, session } = await open()
    const all = await tell(
      say('Now.'),
      toolCall('c1', { rawInput: { command: 'ls' }, locations: [{ path: '/w/a.ts', line: 3 }, { path: '/w/b.ts' }] }),
      toolUpdate('c1', { status: 'in_progress' }),
      toolCall('c2', { title: 'Read', kind: 'read' }),
      toolUpdate('c1', {
        status: 'completed',
        title: 'Run ls',
        content: [
          { type: 'content', content: { type: 'text', text: 'a.ts' } },
          { type: 'diff', path: '/w/a.ts', oldText: 'a', newText: 'b' },
        ],
        rawOutput: { exitCode: 0 },
      }),
      say('Done.'),
    )
    expect(all.map(({ role }) => role)).toEqual(['agent', 'tool', 'tool', 'agent'])
    expect(all[1]).toMatchObject({
      content: 'a.ts',
      tool: {
        name: 'Run ls',
        kind: 'execute',
        status: 'completed',
        input: { command: 'ls' },
        output: { exitCode: 0 },
        locations: [
          { path: '/w/a.ts', line: 3 },
          { path: '/w/b.ts', line: null },
        ],
      },
    })
    expect(all[2]!.tool).toEqual({
      name: 'Read',
      kind: 'read',
      status: 'pending',
      input: null,
      output: null,
      locations: [],
    })
    expect(await readSession(board.server.app.db, session.id)).toMatchObject({ messages: 2, toolCalls: 2 })
  })

  it('can be updated before it begins, as by a permission request', async () => {
    const { tell } = await open()
    const all = await tell(
      toolUpdate('c1', { title: 'Write a file', kind: 'edit', status: 'pending' }),
      toolCall('c1', { title: 'Write x', kind: 'edit' }),
      toolUpdate('c1', { status: 'completed' }),
    )
    expect(all.map(({ tool }) => [tool!.name, tool!.status])).toEqual([['Write x', 'completed']])
  })

  it('is a new entry when its id is reused, and the same entry when it is only updated in a later turn', async () => {
    const { tell } = await open()
    await tell(toolCall('call_0', { title: 'First' }), toolUpdate('call_0', { status: 'completed' }))
    await tell(toolCall('call_0', { title: 'Second' }))
    const all = await tell(toolUpdate('call_0', { status: 'failed' }))
    expect(all.map(({ tool }) => [tool!.name, tool!.status])).toEqual([
      ['First', 'completed'],
      ['Second', 'failed'],
    ])
  })

  it('is truncated if it shows too much', async () => {
    const { tell } = await open()
    let deep: unknown = 'x'
    for (let level = 0; level < 1000; level++) deep = [deep]
    const [first, second] = await tell(
      toolCall('1', { rawInput: { text: 'y'.repeat(1e6) }, rawOutput: 'z'.repeat(1e6) }),
      toolCall('2', { rawInput: deep }),
    )
    expect(JSON.stringify(first!).length).toBeLessThan(140_000)
    expect(first!.tool!.output).toMatch(/z\n\[\d+ more characters were omitted\]$/)
    expect(second!.tool!.input).toBe('[nested too deeply to be kept]')
  })

  it('without a title is named by its tool, its kind or its id, and never by its input', async () => {
    const { tell } = await open()
    const all = await tell(
      toolUpdate('c1', { status: 'failed', _meta: { toolName: 'run_shell_command' } }),
      toolUpdate('c2', { status: 'failed', kind: 'fetch' }),
      toolUpdate('c3', { status: 'failed' }),
      toolUpdate('c4', { title: '{"a":1}', kind: 'other' }),
      toolUpdate('c4', { status: 'completed', _meta: { toolName: 'mcp__board__get_card' } }),
      toolUpdate('c5', { title: 'List', name: 'ls' }),
      toolUpdate('c5', { _meta: { toolName: 'ls' } }),
    )
    expect(all.map(({ tool }) => tool!.name)).toEqual([
      'run_shell_command',
      'fetch',
      'c3',
      'mcp__board__get_card',
      'List',
    ])
  })
})

describe('another update of an agent', () => {
  it('is a plan, which each update replaces within a turn', async () => {
    const { tell } = await open()
    const plan = (...statuses: string[]): RawUpdate => ({
      sessionUpdate: 'plan',
      entries: statuses.map((status, at) => ({ content: `Step ${at + 1}`, status, priority: 'high' })),
    })
    expect(said(await tell(plan('pending', 'pending'), say('I start.'), plan('completed', 'in_progress')))).toEqual([
      ['plan', '- [x] Step 1\n- [~] Step 2'],
      ['agent', 'I start.'],
    ])
    expect(said(await tell(plan('pending')))).toHaveLength(3)
  })

  it('reports how full its context is, which the session shows and an event contains', async () => {
    const live = await follow(board.url, board.token, card.projectId)
    const { session, transcript } = await open()
    await transcript.add({
      sessionUpdate: 'usage_update',
      used: 1200,
      size: 200_000,
      cost: { amount: 0.25, currency: 'USD' },
    })
    await transcript.finishMessages()
    await transcript.add({
      sessionUpdate: 'usage_update',
      used: Number.NaN,
      size: -1,
      cost: { amount: 'much', currency: 'USD' },
    })
    await transcript.finishMessages()
    const { data } = await live.message('agent.usage', ({ data: { sessionId } }) => sessionId === String(session.id))
    expect(data.usage).toEqual({
      inputTokens: 0,
      outputTokens: 0,
      exact: true,
      contextUsed: 1200,
      contextSize: 200_000,
      costUsd: null,
    })
    expect(await readSession(board.server.app.db, session.id)).toMatchObject({
      contextUsed: 1200,
      contextSize: 200_000,
    })
    live.close()
  })

  it('can be its commands, its mode, or an unknown type', async () => {
    const { session, tell } = await open()
    const all = await tell(
      {
        sessionUpdate: 'available_commands_update',
        availableCommands: [{ name: 'review', description: 'Review it' }, { name: ' ' }, 7],
      },
      { sessionUpdate: 'current_mode_update', currentModeId: 'plan' },
      { sessionUpdate: 'telepathy', thought: 'hello' },
      { sessionUpdate: 'config_option_update' },
      { sessionUpdate: 'session_info_update', title: 'x' },
    )
    expect(said(all)).toEqual([['system', 'Mode: plan\n{"sessionUpdate":"telepathy","thought":"hello"}\n']])
    const [commands] = await listAnnouncedCommands(board.server.app.db, session.projectId)
    expect(JSON.parse(commands!.commands)).toEqual([{ name: 'review', description: 'Review it' }])
  })

  it('is never trusted: invalid values in any field neither throw nor are kept', async () => {
    const { tell } = await open()
    const nonsense = [
      null,
      7,
      'x',
      true,
      [],
      {},
      [[]],
      [{ type: 'content' }],
      { text: 5, type: 9 },
      '\ud800',
      { toJSON: 'x', __proto__: 'y' },
    ]
    const kinds = [
      'user_message_chunk',
      'agent_message_chunk',
      'tool_call',
      'tool_call_update',
      'plan',
      'usage_update',
      'available_commands_update',
      'current_mode_update',
      'other',
    ]
    const fields = [
      'content',
      'toolCallId',
      'title',
      'kind',
      'status',
      'rawInput',
      'rawOutput',
      'locations',
      'entries',
      'used',
      'size',
      'cost',
      'availableCommands',
      'currentModeId',
      'messageId',
      'name',
      '_meta',
    ]
    const updates = kinds.flatMap(sessionUpdate =>
      fields.flatMap(field => nonsense.map(value => ({ sessionUpdate, [field]: value }) as RawUpdate)),
    )
    const all = await tell(...updates)
    expect(all.length).toBeGreaterThan(3)
    for (const message of all) expect(v.parse(Message, message)).toEqual(message)
  })
})

describe('events', () => {
  it('contain every message verbatim, once per batch, and the final text of the last one', async () => {
    const live = await follow(board.url, board.token, card.projectId)
    const { session, tell } = await open()
    const mine = () =>
      live.messages.filter(
        ({ type, data }) => /^agent\.(message|tool|plan)$/.test(type) && data.sessionId === String(session.id),
      )
    const all = await tell(
      ...Array.from({ length: 50 }, (_, at) => say(`${at} `)),
      toolCall('1'),
      toolUpdate('1', { status: 'completed' }),
      say('end'),
    )
    await live.message('agent.message', ({ data }) => data.id === all.at(-1)!.id)
    for (const message of all)
      expect(
        mine()
          .filter(({ data }) => data.id === message.id)
          .at(-1)!.data,
      ).toEqual({ ...message, cardId: String(session.cardId), cardTitle: 'A card' })
    expect(
      mine()
        .map(({ type }) => type)
        .filter(type => type === 'agent.tool'),
    ).toHaveLength(1)
    expect(mine().length).toBeLessThan(8)
    live.close()
  })

  it("contain a user's message in the transaction that stores it", async () => {
    const { session } = await open()
    const live = await follow(board.url, board.token, card.projectId)
    const view = await board.server.app.db.transaction(tx => addMessage(tx, session, 'user', 'Go on'))
    expect((await live.message('agent.message', ({ data }) => data.id === view.id)).data).toEqual({
      ...view,
      cardId: String(session.cardId),
      cardTitle: 'A card',
    })
    expect(await messages(session)).toEqual([view])
    live.close()
  })
})

describe('reading', () => {
  it('starts at a time or a message in either direction, and returns the oldest first', async () => {
    const { session, transcript } = await open()
    const db = board.server.app.db
    for (const text of ['1', '2', '3', '4', '5']) {
      await transcript.add(say(text))
      await transcript.finishMessages()
    }
    const all = await messages(session)
    const read = async (query: object) =>
      (await queryMessages(db, { cardId: session.cardId, sessionId: session.id, limit: 100, ...query }))
        .map(({ content }) => content)
        .join('')
    expect(await read({})).toBe('12345')
    expect(await read({ limit: 2 })).toBe('45')
    expect(await read({ since: Number(all[1]!.id), limit: 2 })).toBe('34')
    expect(await read({ since: 0, limit: 2 })).toBe('12')
    expect(await read({ before: Number(all[3]!.id), limit: 2 })).toBe('23')
    expect(await read({ since: Number(all[0]!.id), before: Number(all[3]!.id) })).toBe('23')
    expect(await read({ since: all[2]!.at })).toBe('345')
    expect(await read({ before: all[2]!.at })).toBe('12')
    expect(await read({ since: '2999-01-01T00:00:00.000Z' })).toBe('')
    expect(await read({ before: '2999-01-01T00:00:00.000Z' })).toBe('12345')
    const whole = await queryMessages(db, { cardId: session.cardId, limit: 1000 })
    expect(whole.slice(-5)).toEqual(all)
  })
})

describe('the output of a command, as Codex sends it next to its call,', () => {
  const writes = (data: string, more: object = {}) =>
    toolUpdate('run', { _meta: { terminal_output_delta: { data, terminal_id: 'run' } }, ...more })

  it('is the output of the call, in pieces and across writes, with an exit code that reports a failure', async () => {
    const { tell } = await open()
    const begins = toolCall('run', { content: [{ type: 'terminal', terminalId: 'run' }] })
    const [first] = await tell(begins, writes('one\n'), writes('two\n'))
    expect([first!.content, first!.tool!.output]).toEqual(['one\ntwo\n', 'one\ntwo\n'])
    const exit = { _meta: { terminal_exit: { exit_code: 3, signal: null, terminal_id: 'run' } }, status: 'completed' }
    const [last] = await tell(writes('three'), toolUpdate('run', exit))
    expect(last!.tool!.output).toBe('one\ntwo\nthree\n[exit code 3]')
    expect(last!.tool!.status).toBe('completed')
  })

  it('is truncated if it is long', async () => {
    const { tell } = await open()
    const [only] = await tell(toolCall('run'), ...Array.from({ length: 40 }, () => writes('x'.repeat(10_000))))
    expect(String(only!.tool!.output)).toHaveLength(65_536 + '\n[the rest was omitted]'.length)
  })
})
