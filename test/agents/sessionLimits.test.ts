import { afterAll, beforeAll, expect, test } from 'vitest'
import { mintAgentToken } from '../../src/identity/agentTokens.ts'
import { readLatestSession } from '../../src/store/agents/sessions.ts'
import { startFolderBoard, type AgentBoard } from '../support/agents/agentBoard.ts'

let board: AgentBoard
beforeAll(async () => {
  board = await startFolderBoard({ forever: { fixture: 'forever' } }, { agentRequestsPerMinute: 40 })
})
afterAll(() => board.close())

/** A card with a running agent, and a token of its session. */
async function atWork() {
  const { id: cardId } = await board.start('forever')
  await board.untilStatus(cardId, 'running')
  return { cardId, token: await tokenOf(cardId) }
}
async function tokenOf(cardId: string): Promise<string> {
  const { db } = board.server.app
  const { id: sessionId } = (await readLatestSession(db, Number(cardId)))!
  return (await db.transaction(tx => mintAgentToken(tx, { cardId: Number(cardId), sessionId, ttlSecs: 600 }))).token
}
const call = (token: string, name: string, given: object) =>
  board.request('POST', '/api/mcp', {
    token,
    body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: given } },
  })
async function create(token: string): Promise<string> {
  const { body } = await call(token, 'create_card', { title: 'By an agent' })
  return body.result.isError ? JSON.parse(body.result.content[0].text).error.code : 'created'
}
const limitTo = (sessionCards: number) => board.client.projects.update({ id: board.projectId, sessionCards })

test('a session can create as many cards as the project allows, over all its tokens, and then gets CARD_LIMIT_REACHED', async () => {
  expect((await board.client.projects.get({ id: board.projectId })).sessionCards).toBe(50)
  await limitTo(2)
  const { cardId, token } = await atWork()
  expect([await create(token), await create(await tokenOf(cardId)), await create(token)]).toEqual([
    'created',
    'created',
    'CARD_LIMIT_REACHED',
  ])
  const { body } = await call(token, 'create_card', { title: 'One more' })
  expect(JSON.parse(body.result.content[0].text).error.message).toContain('can create at most 2 cards')
  await limitTo(3)
  expect([await create(token), await create(token)]).toEqual(['created', 'CARD_LIMIT_REACHED'])
  await board.client.agents.cancel({ projectId: board.projectId, cardId })
})

test("a deleted card and a resumed session count, a new session and a user's token start at 0", async () => {
  await limitTo(1)
  const { projectId } = board
  const { cardId, token } = await atWork()
  const { body } = await call(token, 'create_card', { title: 'Short' })
  const made = JSON.parse(body.result.content[0].text) as { id: string }
  await board.client.cards.delete({ projectId, cardId: made.id })
  expect(await create(token)).toBe('CARD_LIMIT_REACHED')
  const own = await board.client.agents.token({ projectId, cardId })
  expect([await create(own.token), await create(own.token)]).toEqual(['created', 'CARD_LIMIT_REACHED'])
  await board.client.agents.cancel({ projectId, cardId })
  await board.untilStatus(cardId, 'cancelled')
  const other = await atWork()
  expect(await create(other.token)).toBe('created')
  await board.client.agents.cancel({ projectId, cardId: other.cardId })
})

test('0 allows none, and neither users nor API keys have this limit', async () => {
  await limitTo(0)
  const { cardId, token } = await atWork()
  expect(await create(token)).toBe('CARD_LIMIT_REACHED')
  const { projectId } = board
  const { key } = await board.client.keys.create({
    name: 'k',
    scope: 'project',
    projectId,
    permissions: ['cards.create'],
  })
  for (const client of [board.client, board.as(key)])
    expect(await client.cards.create({ projectId, title: 'Of a person' })).toMatchObject({ title: 'Of a person' })
  await board.client.agents.cancel({ projectId, cardId })
})

test('a session can send as many requests per minute as the server allows, over all its tokens, and then gets 429', async () => {
  await limitTo(50)
  const { cardId, token } = await atWork()
  const second = await tokenOf(cardId)
  const replies = await Promise.all(
    Array.from({ length: 60 }, (_, at) => board.request('GET', '/api/auth/me', { token: at % 2 ? token : second })),
  )
  const refused = replies.filter(({ status }) => status === 429)
  expect(refused.length).toBeGreaterThanOrEqual(20)
  expect(refused.length).toBeLessThan(40)
  expect(refused[0]!.body.error.code).toBe('RATE_LIMITED')
  expect(Number(refused[0]!.headers.get('retry-after'))).toBeGreaterThan(0)
  expect(refused[0]!.headers.get('ratelimit-policy')).toBe('"minute";q=40;w=60')
  // Every route counts, including those that are closed to agents.
  expect((await board.request('GET', '/api/projects', { token })).status).toBe(429)
  expect((await call(token, 'list_cards', {})).status).toBe(429)
  const other = await atWork()
  expect((await board.request('GET', '/api/auth/me', { token: other.token })).status).toBe(200)
  expect((await board.request('GET', '/api/auth/me')).status).toBe(200)
  for (const each of [cardId, other.cardId])
    await board.client.agents.cancel({ projectId: board.projectId, cardId: each })
})
