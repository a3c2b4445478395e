import { beforeAll, describe, expect, it } from 'vitest'
import { type TestBoard } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { follow } from '../support/receivers/liveSocket.ts'
import { startSingleSignOn, type SingleSignOn } from '../support/identity/singleSignOn.ts'
import { isSharable, secretKey, startSharing, type Sharing } from './sharing.ts'
import { registerConfirmed } from '../support/identity/registerConfirmed.ts'

const ada = { email: 'ada@example.org', password: 'battery staple 2' }

describe.skipIf(!isSharable)('daemons that share a board', () => {
  let sharing: Sharing
  let sso: SingleSignOn
  let one: TestBoard
  let two: TestBoard
  let projectId: string

  beforeAll(async () => {
    sharing = await startSharing()
    sso = await startSingleSignOn({
      secretKey,
      database: { url: sharing.server.url, host: 'one' },
      externalRequestsPerMinute: 40,
    })
    one = sso.board
    sharing.end(() => sso.close())
    two = await sharing.join('two', { externalRequestsPerMinute: 40 })
    projectId = (await one.client.projects.create({ name: 'Shared', path: one.folder('shared') })).id
  })

  it('a daemon with another sealing key does not start, and reports why', async () => {
    await expect(sharing.join('three', { secretKey: Buffer.alloc(32, 7).toString('base64') })).rejects.toMatchObject({
      code: 'SEALED_WITH_OTHER_KEY',
    })
  })

  it('an event reaches the sockets of every daemon once and in order', async () => {
    const sockets = await Promise.all([one, two].map(board => follow(board.url, board.token, projectId)))
    await Promise.all(
      Array.from({ length: 40 }, (_, number) =>
        [one, two][number % 2]!.client.cards.create({ projectId, title: `card ${number}`, deferred: true }),
      ),
    )
    for (const socket of sockets) {
      await eventually('all events', () => socket.seqs().length >= 40)
      const seqs = socket.seqs()
      expect(seqs).toEqual(seqs.map((_, at) => seqs[0]! + at))
      socket.close()
    }
  })

  it('a client that gets an event of a change at one daemon reads the change at the other, regardless of reads there in between', async () => {
    const { id: cardId } = await one.client.cards.create({ projectId, title: 'before', deferred: true })
    const stopped = new AbortController()
    const readers = Array.from({ length: 8 }, async () => {
      for (let reads = 1; ; reads++) {
        await two.client.cards.list({ projectId, limit: 50 })
        await two.client.cards.get({ projectId, cardId })
        if (stopped.signal.aborted) return reads
      }
    })
    for (let round = 1; round <= 60; round++) {
      const title = `round ${round}`
      await [one, two][round % 2]!.client.cards.update({ projectId, cardId, title })
      const [card, items] = await Promise.all([
        two.client.cards.get({ projectId, cardId }),
        two.client.cards.list({ projectId, limit: 50 }),
      ])
      expect([card.title, items.find(({ id }) => id === cardId)?.title]).toEqual([title, title])
    }
    stopped.abort()
    expect(Math.min(...(await Promise.all(readers)))).toBeGreaterThan(1)
  })

  it('a program with a key reads a change of one daemon at the other, regardless of caches', async () => {
    const { id: cardId } = await one.client.cards.create({ projectId, title: 'before', deferred: true })
    const { key } = await one.client.keys.create({ name: 'r', scope: 'server', permissions: ['cards.read'] })
    const ask = async (path: string) =>
      (await two.request('GET', `/api/external/projects/${projectId}/cards${path}`, { token: key })).body.data
    for (let round = 1; round <= 9; round++) {
      const title = `round ${round}`
      await Promise.all([
        ask(`/${cardId}`),
        [one, two][round % 2]!.client.cards.update({ projectId, cardId, title }),
        ask(`/${cardId}`),
      ])
      const [card, page] = await Promise.all([ask(`/${cardId}`), ask(`?limit=1&cursor=${Number(cardId) - 1}`)])
      expect([card.title, page.items[0].title]).toEqual([title, title])
    }
  })

  it('a token that is revoked at one daemon is immediately rejected at the other, and its sockets are closed within a second', async () => {
    const { token } = await registerConfirmed(one, ada)
    await one.client.members.add({ id: projectId, email: ada.email, role: 'viewer' })
    const [own, other] = [
      await follow(two.url, token, projectId),
      await follow(two.url, (await two.as().auth.login(ada)).token, projectId),
    ]
    await one.as(token).auth.logout()
    expect((await two.request('GET', '/api/auth/me', { token })).status).toBe(401)
    expect(await own.untilClosed(1000)).toMatchObject({ code: 4001 })
    expect(other.closed).toBeUndefined()
    other.close()
  })

  it('an API key has one rate limit per minute over all daemons', async () => {
    const { key } = await one.client.keys.create({ name: 'k', scope: 'server', permissions: ['cards.read'] })
    const ask = (board: TestBoard) => board.request('GET', `/api/external/projects/${projectId}/cards`, { token: key })
    const replies = await Promise.all(Array.from({ length: 100 }, (_, number) => ask([one, two][number % 2]!)))
    const passed = replies.filter(({ status }) => status === 200).length
    expect(passed).toBeLessThanOrEqual(40)
    expect(passed).toBeGreaterThanOrEqual(30)
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200, 429]))
  })

  it('failures to sign in are counted together', async () => {
    const fail = async (board: TestBoard) =>
      (
        await board.request('POST', '/api/auth/login', {
          token: null,
          body: { email: 'eve@example.org', password: 'guess' },
        })
      ).status
    for (let number = 0; number < 10; number++) expect(await fail([one, two][number % 2]!)).toBe(401)
    expect([await fail(one), await fail(two)]).toEqual([429, 429])
  })

  it('a single sign-on that starts at one daemon ends at the other, and its code works once', async () => {
    sso.provider.people.set('grace', { email: 'grace@example.org', email_verified: true })
    const change = (url: URL) => {
      if (url.pathname === '/api/oidc/callback') url.port = new URL(two.url).port
    }
    const { goTo, verifier } = await sso.signInFor('grace', { change })
    expect(goTo.search).toMatch(/^\?code=/)
    const code = goTo.searchParams.get('code')!
    expect((await one.client.oidc.exchange({ code, verifier })).token).toMatch(/^svc_st_/)
    for (const board of [one, two])
      await expect(board.client.oidc.exchange({ code, verifier })).rejects.toMatchObject({
        code: 'INVALID_CREDENTIALS',
      })
  })

  it('the same Idempotency-Key at both daemons creates one card, and both respond with it', async () => {
    const body = { title: 'only one', columnId: 1 }
    const { key } = await one.client.keys.create({
      name: 'creator',
      scope: 'server',
      permissions: ['cards.create', 'cards.read'],
    })
    const replies = await Promise.all(
      [one, two, one, two].map(board =>
        board.request('POST', `/api/external/projects/${projectId}/cards`, {
          token: key,
          body,
          headers: { 'idempotency-key': 'same' },
        }),
      ),
    )
    expect(replies.map(({ status }) => status)).toEqual([201, 201, 201, 201])
    expect(new Set(replies.map(each => each.body.data.id)).size).toBe(1)
    expect((await one.client.cards.list({ projectId })).filter(({ title }) => title === 'only one')).toHaveLength(1)
  })

  it('settings that are changed at one daemon apply at the other with the next request', async () => {
    await one.client.auth.setSettings({ enabled: true, registrationEnabled: false })
    expect(
      (await two.request('POST', '/api/auth/register', { token: null, body: { ...ada, email: 'new@example.org' } }))
        .body.error.code,
    ).toBe('REGISTRATION_DISABLED')
  })
})
