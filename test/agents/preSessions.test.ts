import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../support/waiting/eventually.ts'
import { startFolderBoard, type AgentBoard } from '../support/agents/agentBoard.ts'

let board: AgentBoard
beforeAll(async () => {
  board = await startFolderBoard({ planner: { fixture: 'refining' }, forever: { fixture: 'forever' } })
})
afterAll(() => board.close())

const create = (agent: string, prompt = 'Fix the roof.') =>
  board.client.cards.create({ projectId: board.projectId, title: 'Roof', prompt, agent })
const messages = (sessionId: string) => board.client.preSessions.messages({ projectId: board.projectId, sessionId })
const answers = (sessionId: string, count: number) =>
  eventually(
    `${count} answers`,
    async () => (await messages(sessionId)).filter(({ role }) => role === 'agent').length === count,
  )

test('a prompt is refined in a pre-session with a planning agent, and accepted', async () => {
  const card = await create('planner')
  const { sessionId, ...started } = await board.client.preSessions.start({
    projectId: board.projectId,
    cardId: card.id,
  })
  expect(started).toMatchObject({ cardId: card.id, status: 'running', prompt: null })
  await answers(sessionId, 1)
  expect(await board.card(card.id)).toMatchObject({ status: 'idle', sessions: [] })
  expect(
    await board.client.preSessions.send({ projectId: board.projectId, sessionId, content: 'With tiles.' }),
  ).toMatchObject({ role: 'user', content: 'With tiles.' })
  await answers(sessionId, 2)
  await eventually('the end of the turn', async () => (await board.card(card.id)).locks.length === 0)
  const accepted = await board.client.preSessions.accept({ projectId: board.projectId, sessionId })
  expect(accepted.prompt).toBe('Fix the roof, round 2:\nWith tiles.')
  expect(await board.messages(card.id)).toEqual([])
  await expect(
    board.client.preSessions.send({ projectId: board.projectId, sessionId, content: 'More?' }),
  ).rejects.toMatchObject({ code: 'CONFLICT' })
  await board.untilNoneRuns()
})

test('a pre-session that is cancelled leaves the card unchanged', async () => {
  const card = await create('forever')
  const { sessionId } = await board.client.preSessions.start({ projectId: board.projectId, cardId: card.id })
  await eventually('the planning agent', () => board.processes().length > 0)
  expect((await board.card(card.id)).locks).toMatchObject([{ kind: 'pre-session', holder: 'forever' }])
  await expect(board.client.preSessions.accept({ projectId: board.projectId, sessionId })).rejects.toMatchObject({
    code: 'AGENT_ALREADY_RUNNING',
  })
  await expect(board.client.preSessions.start({ projectId: board.projectId, cardId: card.id })).rejects.toMatchObject({
    code: 'AGENT_ALREADY_RUNNING',
  })
  await board.client.preSessions.cancel({ projectId: board.projectId, sessionId })
  await board.untilNoneRuns()
  expect(await board.card(card.id)).toMatchObject({ prompt: 'Fix the roof.', status: 'idle', locks: [] })
})

test('deleting a card ends its pre-session', async () => {
  const card = await create('forever')
  const { sessionId } = await board.client.preSessions.start({ projectId: board.projectId, cardId: card.id })
  await eventually('the planning agent', () => board.processes().length > 0)
  await board.client.cards.delete({ projectId: board.projectId, cardId: card.id, force: true })
  await board.untilNoneRuns()
  await expect(messages(sessionId)).rejects.toMatchObject({ code: 'PRE_SESSION_NOT_FOUND' })
})

test('archiving a card ends its pre-session', async () => {
  const card = await create('forever')
  await board.client.preSessions.start({ projectId: board.projectId, cardId: card.id })
  await eventually('the planning agent', () => board.processes().length > 0)
  await board.client.cards.archive({ projectId: board.projectId, cardId: card.id })
  await board.untilNoneRuns()
  expect((await board.card(card.id)).locks).toEqual([])
})

test('a card that is moved into an archive column loses its pre-session, and with any other move keeps it', async () => {
  const { projectId } = board
  const { boardId, id: cardId } = await create('forever')
  const archive = await board.client.columns.create({ projectId, boardId, name: 'Kept', columnType: 'archive' })
  await board.client.preSessions.start({ projectId, cardId })
  await eventually('the planning agent', () => board.processes().length > 0)
  await board.client.cards.move({ projectId, cardId, columnId: board.columns.done })
  expect((await board.card(cardId)).locks).toMatchObject([{ kind: 'pre-session' }])
  await board.client.cards.move({ projectId, cardId, columnId: archive.id })
  await board.untilNoneRuns()
  expect(await board.card(cardId)).toMatchObject({ locks: [], archivedAt: expect.any(String) })
})

test('a pre-session is not found in another project, and neither is a work session', async () => {
  const { id } = await board.start('planner')
  const { sessions } = await board.untilStatus(id, 'waiting')
  await expect(messages(sessions[0]!.id)).rejects.toMatchObject({ code: 'PRE_SESSION_NOT_FOUND' })
})
