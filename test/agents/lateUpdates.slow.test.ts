import { afterAll, beforeAll, expect, test } from 'vitest'
import { startAgentBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import { eventually, slowdown } from '../support/waiting/eventually.ts'

interface Turn {
  says: string
  late?: ReadonlyArray<readonly [ms: number, update: string | object]>
  exitsAfterMs?: number
  writes?: string
}

let board: AgentBoard
beforeAll(async () => {
  board = await startAgentBoard(
    {
      late: { fixture: 'late' },
      'well-behaved': { fixture: 'well-behaved' },
    },
    { agentSlots: 1 },
  )
})
afterAll(() => board.close())

const start = (turn: Turn, input = {}) => board.start('late', { prompt: JSON.stringify(turn), ...input })
const agentTexts = async (cardId: string) =>
  (await board.messages(cardId)).filter(({ role }) => role === 'agent').map(({ content }) => content)
const untilTexts = (cardId: string, texts: string[], timeoutMs?: number) =>
  eventually(
    `the texts ${texts.join(' | ')}`,
    async () => JSON.stringify(await agentTexts(cardId)) === JSON.stringify(texts),
    timeoutMs,
  )
const isLate = (cardId: string) => board.server.app.supervisor.isAtWork(Number(cardId))

test('a card completes immediately, and late chunks continue the message of its turn in order', async () => {
  const { id } = await start({
    says: 'Done,',
    late: [
      [300, ' or'],
      [1500, ' almost'],
      [3500, '.'],
    ],
  })
  await board.untilStatus(id, 'completed')
  expect(isLate(id)).toBe(true)
  expect(await agentTexts(id)).not.toEqual(['Done, or almost.'])
  await untilTexts(id, ['Done, or almost.'])
  await eventually('the end of the agent', () => !isLate(id) && board.processes().length === 0, 10_000 * slowdown())
  expect((await board.card(id)).status).toBe('completed')
})

test('late tool calls, thoughts and states are kept in order', async () => {
  const call = { sessionUpdate: 'tool_call', toolCallId: 'late-call', title: 'Tidy up', kind: 'other' }
  const { id } = await start({
    says: 'Done.',
    late: [
      [200, call],
      [300, { sessionUpdate: 'tool_call_update', toolCallId: 'late-call', status: 'completed' }],
      [400, { sessionUpdate: 'agent_thought_chunk', content: { type: 'text', text: 'All good.' } }],
      [500, 'Really done.'],
    ],
  })
  await board.untilStatus(id, 'completed')
  await untilTexts(id, ['Done.', 'Really done.'])
  const roles = (await board.messages(id)).map(({ role }) => role)
  expect(roles.slice(roles.indexOf('agent'))).toEqual(['agent', 'tool', 'thought', 'agent'])
})

test('an agent that exits after its turn keeps all its updates', async () => {
  const { id } = await start({ says: 'Done', late: [[400, '.']], exitsAfterMs: 450 })
  await board.untilStatus(id, 'completed')
  await untilTexts(id, ['Done.'])
  await eventually('its end', () => !isLate(id), 3000 * slowdown())
  expect((await board.card(id)).status).toBe('completed')
})

test('an agent with only late updates uses no slot', async () => {
  const { id } = await start({ says: 'Done', late: [[3000, '.']] })
  await board.untilStatus(id, 'completed')
  const { id: next } = await board.start('well-behaved')
  await board.untilStatus(next, 'completed')
  expect(isLate(id)).toBe(true)
  await untilTexts(id, ['Done.'])
})

test('a message during the wait for late updates ends the wait, and the next turn starts immediately', async () => {
  const { id } = await start({ says: 'One.', late: [[4500, ' Never seen.']] })
  await board.untilStatus(id, 'completed')
  const began = performance.now()
  const ref = { projectId: board.projectId, cardId: id }
  await board.client.agents.send({ ...ref, content: JSON.stringify({ says: 'Two.', late: [[100, ' Late.']] }) })
  await untilTexts(id, ['One.', 'Two. Late.'])
  expect(performance.now() - began).toBeLessThan(3000 * slowdown())
})

test('a merge during the wait ends the agent first, and its worktree can be removed', async () => {
  const { id } = await start({ says: 'Done', late: [[4500, '.']], writes: 'work.txt' })
  await board.untilStatus(id, 'completed')
  expect(isLate(id)).toBe(true)
  const ref = { projectId: board.projectId, cardId: id }
  const { merged, after } = await board.client.agents.merge({ ...ref, removeWorktree: true })
  expect([merged, after.removedWorktree, isLate(id)]).toEqual([true, true, false])
})

test('a server that stops during the wait does not wait for it', async () => {
  const other = await startAgentBoard({ late: { fixture: 'late' } })
  const { id } = await other.start('late', { prompt: JSON.stringify({ says: 'Done', late: [[4500, '.']] }) })
  await other.untilStatus(id, 'completed')
  const began = performance.now()
  await other.close()
  expect(performance.now() - began).toBeLessThan(3000 * slowdown())
})
