import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newCard } from '../support/agents/agentRows.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { startFolderBoard, type AgentBoard, type Card } from '../support/agents/agentBoard.ts'

let board: AgentBoard
beforeAll(async () => {
  board = await startFolderBoard(
    { forever: { fixture: 'forever' }, well: { fixture: 'well-behaved' } },
    { agentSlots: 2 },
  )
})
afterAll(() => board.close())

const cancel = (cardId: string) => board.client.agents.cancel({ projectId: board.projectId, cardId })
const statuses = (cards: readonly Card[]) => Promise.all(cards.map(async ({ id }) => (await board.card(id)).status))

test('no more agents run than there are slots, and the others start in the order of their requests', async () => {
  const cards: Card[] = []
  for (let number = 0; number < 5; number++) cards.push(await board.start('forever'))
  await eventually(
    'two running agents',
    async () => (await statuses(cards)).filter(status => status === 'running').length === 2,
  )
  expect(await statuses(cards)).toEqual(['running', 'running', 'queued', 'queued', 'queued'])
  await cancel(cards[3]!.id)
  expect(await board.card(cards[3]!.id)).toMatchObject({ status: 'cancelled', startedAt: null })
  await cancel(cards[0]!.id)
  await board.untilStatus(cards[2]!.id, 'running')
  expect(await statuses(cards)).toEqual(['cancelled', 'running', 'running', 'cancelled', 'queued'])
  expect(await board.client.agents.active({ projectId: board.projectId })).toMatchObject([
    { cardId: cards[1]!.id, status: 'running' },
    { cardId: cards[2]!.id },
    { cardId: cards[4]!.id, status: 'queued' },
  ])
  await cancel(cards[1]!.id)
  await board.untilStatus(cards[4]!.id, 'running')
  for (const at of [2, 4]) await cancel(cards[at]!.id)
  await board.untilNoneRuns()
})

test('a session that is requested again moves to the end of the queue', async () => {
  const [first, second] = [await board.start('forever'), await board.start('forever')]
  await eventually('two running agents', async () =>
    (await statuses([first, second])).every(status => status === 'running'),
  )
  const [third, fourth] = [await board.start('forever'), await board.start('forever')]
  await cancel(third.id)
  await board.client.agents.relaunch({ projectId: board.projectId, cardId: third.id })
  await cancel(first.id)
  await board.untilStatus(fourth.id, 'running')
  expect((await board.card(third.id)).status).toBe('queued')
  for (const { id } of [second, third, fourth]) await cancel(id)
  await board.untilNoneRuns()
})

test('many concurrent cards all finish', async () => {
  const cards = await Promise.all(Array.from({ length: 8 }, () => board.start('well')))
  for (const { id } of cards)
    expect(await board.untilStatus(id, 'completed', 40_000)).toMatchObject({ statusReason: null, locks: [] })
  await board.untilNoneRuns()
})

test('thousands of queued sessions are interrupted by a stop of the server, and start again with it', async () => {
  const many = 2000
  const dataDir = mkdtempSync(join(tmpdir(), 'board-waiting-'))
  const stopped = await startBoard({ dataDir, agentSlots: 0 })
  const card = await newCard(stopped)
  await stopped.server.app.db.transaction(tx =>
    tx.run(
      `WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n WHERE i < ?)
    INSERT INTO agent_sessions (project_id, card_id, agent, status, prompt, created_at) SELECT ?, ?, 'fixture', 'queued', '', ? FROM n`,
      [many, card.projectId, card.cardId, tx.now],
    ),
  )
  const waiting = async (board: TestBoard) => (await board.client.agents.active(card)).length
  expect(await waiting(stopped)).toBe(many)
  await stopped.server.stop()
  const again = await startBoard({ dataDir, agentSlots: 0 })
  await eventually('the end of all', async () => (await waiting(again)) === 0)
  expect(await again.client.cards.get(card)).toMatchObject({ status: 'interrupted', statusReason: 'server_restart' })
  await Promise.all([stopped, again].map(each => each.close()))
  rmSync(dataDir, { recursive: true, force: true })
})
