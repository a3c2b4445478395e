import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../support/waiting/eventually.ts'
import { startFolderBoard, type AgentBoard } from '../support/agents/agentBoard.ts'

let board: AgentBoard
beforeAll(async () => {
  board = await startFolderBoard({
    filling: { fixture: 'filling-context' },
    forever: { fixture: 'filling-context', env: { FIXTURE_USED: '10' } },
    full: { fixture: 'filling-context', env: { FIXTURE_FIRST: '95' } },
  })
})
afterAll(() => board.close())

const ref = (cardId: string) => ({ projectId: board.projectId, cardId })
const told = async (cardId: string, sessionId: string) =>
  (await board.client.agents.messages({ ...ref(cardId), sessionId }))
    .filter(({ role }) => role === 'user')
    .map(({ content }) => content)

test('the settings of the relay have defaults, and a partial update keeps the others', async () => {
  expect(await board.client.settings.getContextRelay()).toEqual({
    enabled: true,
    thresholdPercent: 80,
    maxSummaryTokens: 4000,
  })
  expect(await board.client.settings.setContextRelay({ maxSummaryTokens: 100 })).toEqual({
    enabled: true,
    thresholdPercent: 80,
    maxSummaryTokens: 100,
  })
  await expect(board.client.settings.setContextRelay({ thresholdPercent: 100 })).rejects.toMatchObject({
    code: 'VALIDATION_FAILED',
  })
})

test('a session whose context exceeds the threshold hands over to a new one automatically', async () => {
  const { id } = await board.start('filling', { prompt: 'Fix the roof.' })
  const card = await board.until(
    id,
    'the second session',
    found => found.sessions.length === 2 && found.status === 'completed',
  )
  expect(card.sessions.map(({ status }) => status)).toEqual(['completed', 'completed'])
  const [prompt] = await told(id, card.sessions[1]!.id)
  expect(prompt).toContain('HANDOFF: half is done.')
  expect(prompt).toContain('Fix the roof.')
  expect(prompt!.length).toBeLessThan(1000)
  await board.untilNoneRuns()
})

test('a user can request a handoff, which passes on the pending messages', async () => {
  const { id } = await board.start('forever', { prompt: 'Fix the roof.' })
  await eventually('the agent at work', async () => (await board.client.agents.get(ref(id))).usage?.contextUsed)
  await board.client.agents.send({ ...ref(id), content: 'And the door.' })
  await board.client.agents.relay(ref(id))
  const card = await board.until(
    id,
    'the second session',
    found => found.sessions.length === 2 && found.status === 'completed',
  )
  expect(card.sessions[0]).toMatchObject({ status: 'completed', summary: expect.stringContaining('HANDOFF') })
  expect((await board.messages(id)).filter(({ role }) => role === 'agent').at(-1)!.content).toContain('And the door.')
  await board.untilNoneRuns()
  await expect(board.client.agents.relay(ref(id))).rejects.toMatchObject({ code: 'AGENT_NOT_RUNNING' })
})

test('a handoff that is requested before the agent is ready happens anyway', async () => {
  const { id } = await board.start('forever')
  await board.untilStatus(id, 'running')
  await board.client.agents.relay(ref(id))
  const { sessions } = await board.until(
    id,
    'the second session',
    found => found.sessions.length === 2 && found.status === 'completed',
  )
  expect(sessions[0]!.summary).toContain('HANDOFF')
})

test('a session that starts above the threshold keeps working', async () => {
  const { id } = await board.start('full')
  await board.untilStatus(id, 'completed')
  expect((await board.card(id)).sessions).toHaveLength(1)
})

test('a disabled relay hands over no session automatically', async () => {
  await board.client.settings.setContextRelay({ enabled: false })
  const { id } = await board.start('filling')
  await eventually(
    'the full context',
    async () => (await board.client.agents.get(ref(id))).usage?.contextUsed === 90_000,
  )
  await new Promise(resolve => setTimeout(resolve, 1500))
  expect(await board.card(id)).toMatchObject({ status: 'running', sessions: [{ status: 'running' }] })
  await board.client.agents.cancel(ref(id))
  await board.client.settings.setContextRelay({ enabled: true })
})
