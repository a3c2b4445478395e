import { afterAll, beforeAll, expect, test } from 'vitest'
import { startFolderBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import { onLibsqlServer } from '../support/servers/testBoard.ts'
import { mcpClients } from '../support/servers/mcpClients.ts'
import { eventually } from '../support/waiting/eventually.ts'

let board: AgentBoard
beforeAll(async () => {
  board = await startFolderBoard({ forever: { fixture: 'forever' }, asking: { fixture: 'permission-first' } })
})
afterAll(() => board.close())

const wait = (cardId: string, timeoutSecs: number) =>
  board.client.agents.wait({ projectId: board.projectId, cardId, timeoutSecs })
const waiting = () => board.server.app.cardWaits.count()

test('a wait ends on timeout, and when the agent ends, even if no further request comes', async () => {
  const { id: cardId } = await board.start('forever')
  await board.untilStatus(cardId, 'running')
  expect(await wait(cardId, 1)).toMatchObject({ outcome: 'timeout', status: 'running' })
  const ended = wait(cardId, 50)
  await eventually('the wait', async () => waiting() === 1)
  await board.client.agents.cancel({ projectId: board.projectId, cardId })
  expect(await ended).toMatchObject({ outcome: 'ended', status: 'cancelled', cardId })
  expect(waiting()).toBe(0)
})

test('a waiting card and a card that never started return immediately', async () => {
  const { id: asking } = await board.start('asking')
  const asked = await wait(asking, 50)
  expect([asked.outcome, asked.questions.length]).toEqual(['waiting', 1])
  const { id: idle } = await board.client.cards.create({ projectId: board.projectId, title: 'Idle' })
  expect((await wait(idle, 50)).outcome).toBe('idle')
  // Clients of the protocol give a tool 60 seconds.
  await expect(wait(idle, 51)).rejects.toMatchObject({ code: 'VALIDATION_FAILED' })
})

test('a caller waits for a limited number of cards at once, and frees them when it disconnects', async () => {
  const { id: cardId } = await board.start('forever')
  await board.untilStatus(cardId, 'running')
  const gone = new AbortController()
  const path = `/api/projects/${board.projectId}/cards/${cardId}/agent/wait?timeoutSecs=50`
  const headers = { authorization: `Bearer ${board.token}` }
  const many = Array.from({ length: 20 }, () =>
    fetch(`${board.url}${path}`, { headers, signal: gone.signal }).catch(() => undefined),
  )
  await eventually('all waits', async () => waiting() === 20)
  const refused = await board.request('GET', path)
  expect([refused.status, refused.body.error.code]).toEqual([429, 'RATE_LIMITED'])
  gone.abort()
  await Promise.all(many)
  await eventually('the end of the waits', async () => waiting() === 0)
  await board.client.agents.cancel({ projectId: board.projectId, cardId })
})

test('a tool that starts a card reports if no agent was started', async () => {
  const { projectId } = board
  const make = async (columnId: string) =>
    (await board.client.cards.create({ projectId, columnId, title: 'Later', agent: 'forever', deferred: true })).id
  const clients = mcpClients()
  const client = await clients.connect(board.url, board.token)
  const start = async (cardId: string) =>
    (await client.callTool({ name: 'start_card', arguments: { projectId, cardId } })).structuredContent
  const [here, elsewhere] = [await make(board.columns.active), await make(board.columns.backlog)]
  expect(await start(elsewhere)).toEqual({ done: true, started: false, next: expect.stringContaining('move_card') })
  expect(await board.card(elsewhere)).toMatchObject({ deferred: false, sessions: [] })
  expect(await start(here)).toEqual({ done: true, started: true })
  await board.client.agents.cancel({ projectId, cardId: here })
  await clients.close()
})

test.each([
  // A request without an automatic response is cut off after ten seconds.
  ['that stops', (own: AgentBoard): Promise<unknown> => own.server.stop()],
  // `onLibsqlServer` reports why it restores no backup.
  ...(onLibsqlServer ? [] : [['that puts a backup back', restoreOne] as const]),
] as const)('a server %s answers those who wait first', async (_, end) => {
  const own = await startFolderBoard({ forever: { fixture: 'forever' } })
  const { projectId } = own
  await own.client.projects.update({ id: projectId, agentSlots: 1 })
  await own.untilStatus((await own.start('forever')).id, 'running')
  const { id: cardId } = await own.start('forever')
  await own.untilStatus(cardId, 'queued')
  const clients = mcpClients()
  const place = { projectId, cardId, timeoutSecs: 50 }
  const tool = await clients.connect(own.url, own.token)
  const told = Promise.all([
    own.client.agents.wait(place),
    tool.callTool({ name: 'wait_for_card', arguments: place }).then(({ structuredContent }) => structuredContent),
  ])
  told.catch(() => {
    /* It is awaited below. */
  })
  await eventually('both waits', () => own.server.app.cardWaits.count() === 2)
  const ending = end(own)
  // The end of all agents can come first.
  const answer = { outcome: expect.stringMatching(/^(timeout|ended)$/) }
  expect(await told).toMatchObject([answer, answer])
  await ending
  await clients.close()
  await own.close()
})

async function restoreOne(own: AgentBoard): Promise<void> {
  const { filename } = await own.client.backups.create()
  expect((await own.request('POST', `/api/backups/${filename}/restore`)).status).toBe(200)
}
