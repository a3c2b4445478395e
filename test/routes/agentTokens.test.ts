import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { contract } from '../../src/contract/index.ts'
import type { Problem } from '../../src/contract/errors.ts'
import { agentOf, get, type Route } from '../../src/contract/route.ts'
import { authenticate } from '../../src/identity/authenticate.ts'
import { authorize } from '../../daemon/http/authorize.ts'
import { mintAgentToken, revokeAgentTokens } from '../../src/identity/agentTokens.ts'
import { periodicJobs } from '../../daemon/process/periodicJobs.ts'
import { newCard, newSession, type TestCard } from '../support/agents/agentRows.ts'
import { startBoard, type Reply, type TestBoard } from '../support/servers/testBoard.ts'
import { openSocket } from '../support/receivers/liveSocket.ts'

interface Owned extends TestCard {
  ref: TestCard
  token: string
  columns: Record<'backlog' | 'active' | 'done', string>
}

let board: TestBoard
let now = Date.now()
const people = {} as Record<'owner' | 'member' | 'viewer' | 'stranger', { id: string; token: string }>
const names = ['owner', 'member', 'viewer', 'stranger'] as const

beforeAll(async () => {
  board = await startBoard({ clock: () => new Date(now) })
  await board.as().auth.setup({ email: 'root@example.org', password: 'root password' })
  for (const name of names) {
    const { user, token } = await board
      .as()
      .auth.register({ email: `${name}@example.org`, password: 'a long password' })
    people[name] = { id: user.id, token }
  }
})
afterAll(() => board.close())

/** An active card of the owner, in a project of which the member and the viewer are members. */
async function activeCard(): Promise<Owned> {
  const { token } = people.owner
  const client = board.as(token)
  const { projectId } = await newCard(board, 'Work', token)
  const all = await client.columns.list({ projectId })
  const columns = Object.fromEntries(all.map(({ columnType, id }) => [columnType, id])) as Owned['columns']
  const { id: cardId } = await client.cards.create({
    projectId,
    title: 'Active',
    columnId: columns.active,
    deferred: true,
  })
  await board.server.app.db.transaction(async tx => {
    for (const role of ['member', 'viewer'] as const)
      await tx.run('INSERT INTO project_members VALUES (?, ?, ?, ?)', [
        Number(projectId),
        Number(people[role].id),
        role,
        tx.now,
      ])
  })
  return { projectId, cardId, ref: { projectId, cardId }, token, columns }
}
const pathOf = ({ projectId, cardId }: TestCard) => `/api/projects/${projectId}/cards/${cardId}/agent-token`
const mint = (card: TestCard, body: object = {}, token = people.owner.token) =>
  board.request('POST', pathOf(card), { token, body })
const tokenOf = async (card: TestCard, body?: object, by?: string): Promise<string> =>
  (await mint(card, body, by)).body.data.token
const codeOf = ({ status, body }: Reply) => [status, body?.error?.code]
/** The response of the only route for agents to the token. */
const use = async (token: string) =>
  codeOf(await board.request('POST', '/api/mcp', { token, body: { jsonrpc: '2.0', id: 1, method: 'ping' } }))

describe('minting a token', () => {
  it('returns a token of the card for an hour, or for the requested time up to twelve hours', async () => {
    const card = await activeCard()
    const reply = await mint(card)
    expect(reply.status, reply.text).toBe(201)
    expect(reply.body.data).toEqual({
      token: expect.stringMatching(/^svc_at_[0-9A-Za-z]{33}$/),
      expiresAt: new Date(now + 3_600_000).toISOString(),
    })
    expect((await mint(card, { ttlSecs: 43_200 })).body.data.expiresAt).toBe(new Date(now + 43_200_000).toISOString())
    expect(await use(reply.body.data.token)).toEqual([200, undefined])
    for (const ttlSecs of [59, 43_201, 0, -1, 1.5, '3600', null])
      expect(codeOf(await mint(card, { ttlSecs }))).toEqual([400, 'VALIDATION_FAILED'])
  })

  it('is rejected unless the card is in active execution', async () => {
    const { projectId, columns, token } = await activeCard()
    const client = board.as(token)
    const make = async (input: object) => ({
      projectId,
      cardId: (await client.cards.create({ projectId, title: 'Other', deferred: true, ...input })).id,
    })
    const archived = await make({ columnId: columns.active })
    await client.cards.archive(archived)
    const deleted = await make({ columnId: columns.active })
    await client.cards.delete(deleted)
    for (const card of [
      await make({}),
      await make({ columnId: columns.done }),
      archived,
      await make({ columnId: columns.active, kind: 'terminal', command: 'true' }),
    ])
      expect(codeOf(await mint(card))).toEqual([409, 'CONFLICT'])
    expect(codeOf(await mint(deleted))).toEqual([404, 'CARD_NOT_FOUND'])
    expect(codeOf(await mint({ projectId, cardId: '999999' }))).toEqual([404, 'CARD_NOT_FOUND'])
  })

  it('requires a member: viewers, strangers, API keys and agents are rejected', async () => {
    const card = await activeCard()
    expect((await mint(card, {}, people.member.token)).status).toBe(201)
    expect(codeOf(await mint(card, {}, people.viewer.token))).toEqual([403, 'FORBIDDEN'])
    expect(codeOf(await mint(card, {}, people.stranger.token))).toEqual([404, 'PROJECT_NOT_FOUND'])
    const { key } = await board
      .as(people.owner.token)
      .keys.create({ name: 'k', scope: 'server', permissions: ['agents.run', 'cards.update'] })
    expect(codeOf(await mint(card, {}, key))).toEqual([403, 'INSUFFICIENT_PERMISSIONS'])
    expect(codeOf(await mint(card, {}, await tokenOf(card)))).toEqual([403, 'FORBIDDEN'])
  })

  it('stores no token, not even for an Idempotency-Key', async () => {
    const card = await activeCard()
    const { token } = (
      await board.request('POST', pathOf(card), { token: card.token, body: {}, headers: { 'idempotency-key': 'once' } })
    ).body.data
    const tables = await board.server.app.db.all<{ name: string }>(
      `SELECT name FROM sqlite_master WHERE type = 'table' AND name IN ('agent_tokens', 'idempotent_answers', 'events')`,
    )
    expect(tables.length).toBe(3)
    for (const { name } of tables)
      expect(JSON.stringify(await board.server.app.db.all(`SELECT * FROM ${name}`))).not.toContain(token)
  })
})

describe('a token', () => {
  it('is rejected by routes that require an account, except the tools and the route of the token itself', async () => {
    const card = await activeCard()
    const agent = await tokenOf(card)
    const routes = Object.entries(contract).flatMap(([resource, named]) =>
      Object.entries(named).map(([name, route]): [string, Route] => [`${resource}.${name}`, route]),
    )
    const closed = routes.filter(([, { who }]) => !['public', 'local', 'agent', 'token'].includes(who.kind))
    expect(routes.filter(([, { who }]) => who.kind === 'token').map(([name]) => name)).toEqual(['auth.me', 'mcp.call'])
    expect(await board.as(agent).auth.me()).toMatchObject({
      id: null,
      email: '',
      token: { kind: 'agent', scope: 'card', ...card.ref, permissions: null },
    })
    expect(closed.length).toBeGreaterThan(100)
    for (const [name, route] of closed) {
      const path = route.path.replace(/\{(\w+)\}/g, (_, param: string) =>
        String({ ...card, id: card.projectId }[param] ?? '1'),
      )
      const body = name === 'cards.create' ? { projectId: card.projectId, title: 'Mine' } : {}
      expect([
        name,
        ...codeOf(
          await board.request(route.method, path, {
            token: agent,
            ...(route.method !== 'GET' && route.method !== 'DELETE' && { body }),
          }),
        ),
      ]).toEqual([name, 403, 'FORBIDDEN'])
    }
  })

  it.each<[string, (card: Owned) => Promise<unknown>]>([
    [
      'moves out of the active column',
      card => board.as(card.token).cards.move({ ...card.ref, columnId: card.columns.backlog }),
    ],
    [
      'is moved out by automation',
      async card => {
        const { key } = await board
          .as(card.token)
          .keys.create({ name: 'k', scope: 'project', projectId: card.projectId, permissions: ['cards.move'] })
        const reply = await board.request(
          'PATCH',
          `/api/external/projects/${card.projectId}/cards/${card.cardId}/move`,
          { token: key, body: { targetColumnId: Number(card.columns.done), position: 0 } },
        )
        expect(reply.status, reply.text).toBe(200)
      },
    ],
    ['is completed', card => board.as(card.token).cards.complete(card.ref)],
    ['is archived', card => board.as(card.token).cards.archive(card.ref)],
    ['is deleted', card => board.as(card.token).cards.delete(card.ref)],
    [
      'is deleted with its column',
      card => board.as(card.token).columns.clear({ projectId: card.projectId, columnId: card.columns.active }),
    ],
    ['is deleted with its project', card => board.as(card.token).projects.delete({ id: card.projectId })],
  ])('is revoked immediately when its card %s, and its socket within a second', async (_, end) => {
    const card = await activeCard()
    const agent = await tokenOf(card)
    const live = await openSocket(board.url, agent)
    await end(card)
    expect(await use(agent)).toEqual([401, 'UNAUTHENTICATED'])
    expect((await live.untilClosed(1500)).code).toBe(4001)
  })

  it('remains valid when its card is edited, or moved within its column', async () => {
    const card = await activeCard()
    const agent = await tokenOf(card)
    await board.as(card.token).cards.update({ ...card.ref, title: 'Renamed' })
    await board.as(card.token).cards.move({ ...card.ref, columnId: card.columns.active, position: 0 })
    expect(await use(agent)).toEqual([200, undefined])
  })

  it('expires after its time, and is deleted a day later', async () => {
    const card = await activeCard()
    const agent = await tokenOf(card, { ttlSecs: 60 })
    const live = await openSocket(board.url, agent)
    now += 59_000
    expect(await use(agent)).toEqual([200, undefined])
    now += 1000
    expect(await use(agent)).toEqual([401, 'TOKEN_EXPIRED'])
    expect((await live.untilClosed(1500)).code).toBe(4001)
    const count = async () =>
      (await board.server.app.db.get<{ total: number }>(
        'SELECT count(*) AS total FROM agent_tokens WHERE card_id = ?',
        [Number(card.cardId)],
      ))!.total
    const forget = async () => {
      for (const job of periodicJobs(board.server.app))
        if (job.name.includes('agent tokens')) await job.run(new AbortController().signal)
    }
    await forget()
    expect(await count()).toBe(1)
    now += 86_400_001
    await forget()
    expect(await count()).toBe(0)
  })

  it('is revoked when its creator loses access to the project', async () => {
    const card = await activeCard()
    const agent = await tokenOf(card, {}, people.member.token)
    expect(await use(agent)).toEqual([200, undefined])
    const change = (sql: string) =>
      board.server.app.db.transaction(tx => tx.run(sql, [Number(card.projectId), Number(people.member.id)]))
    await change(`UPDATE project_members SET role = 'viewer' WHERE project_id = ? AND user_id = ?`)
    expect(await use(agent)).toEqual([401, 'UNAUTHENTICATED'])
    await change('DELETE FROM project_members WHERE project_id = ? AND user_id = ?')
    expect(await use(agent)).toEqual([401, 'UNAUTHENTICATED'])
  })

  it('of a session is revoked with the session, and others of the card continue', async () => {
    const card = await activeCard()
    const { db, identity } = board.server.app
    const session = await newSession(board, card)
    const { token: ofSession } = await db.transaction(tx =>
      mintAgentToken(tx, { cardId: session.cardId, sessionId: session.id, ttlSecs: 10 ** 9 }),
    )
    const ofPerson = await tokenOf(card)
    expect(await use(ofSession)).toEqual([200, undefined])
    await db.transaction(tx => revokeAgentTokens(identity, tx, { sessionId: session.id }))
    expect([await use(ofSession), await use(ofPerson)]).toEqual([
      [401, 'UNAUTHENTICATED'],
      [200, undefined],
    ])
  })

  it("is required by an agent's own routes: of that card, and no other credential", async () => {
    const [card, other] = [await activeCard(), await activeCard()]
    const realm = board.server.app
    const route = get('/api/projects/{projectId}/cards/{cardId}/own', {
      notFound: { projectId: 'PROJECT_NOT_FOUND', cardId: 'CARD_NOT_FOUND' },
      who: agentOf('cardId'),
      summary: "An agent's own",
    })
    const attempt = async (token: string) =>
      authorize(realm.db, route, await authenticate(realm, `Bearer ${token}`, { isOwn: async () => true }), {
        projectId: Number(card.projectId),
        cardId: Number(card.cardId),
      }).catch(({ code }: Problem) => code)
    const { key } = await board.as(card.token).keys.create({ name: 'k', scope: 'server', permissions: ['cards.read'] })
    expect(await attempt(await tokenOf(card))).toBe('member')
    for (const token of [await tokenOf(other), card.token, board.token, key])
      expect(await attempt(token)).toBe('AGENT_TOKEN_REQUIRED')
  })

  it('cannot subscribe to a project over a socket', async () => {
    const card = await activeCard()
    const live = await openSocket(board.url, await tokenOf(card))
    live.send({ type: 'subscribe', payload: { projectId: card.projectId } })
    expect((await live.message('error')).data.code).toBe('PROJECT_NOT_FOUND')
    live.close()
  })
})
