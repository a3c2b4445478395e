import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { permissionsOf } from '../../src/contract/accounts/oauth.ts'
import { connectedApp, redirectUri, register, type Tokens } from '../support/identity/connectedApp.ts'
import { openSocket } from '../support/receivers/liveSocket.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'

const password = 'a long password'
const hourMs = 3_600_000
const dayMs = 24 * hourMs
let board: TestBoard
let aheadMs = 0
let ada: string
let projectId: string
let otherProjectId: string

beforeAll(async () => {
  board = await startBoard({ clock: () => new Date(Date.now() + aheadMs) })
  ada = (await board.as().auth.setup({ email: 'ada@example.org', password })).token
  const project = (name: string) => board.as(ada).projects.create({ name, path: board.folder(name) })
  projectId = (await project('roof')).id
  otherProjectId = (await project('cellar')).id
})
afterAll(() => board.close())

const statusOf = async (token: string, path = '/api/auth/me') => (await board.request('GET', path, { token })).status
const cardsOf = (id: string) => `/api/projects/${id}/cards`
const addCard = (token: string) =>
  board.request('POST', '/api/cards', { token, body: { projectId, title: 'Tiles' } }).then(each => each.status)

describe('the metadata for apps', () => {
  it('names the sign-in, under the requested host name', async () => {
    const { port } = new URL(board.url)
    for (const host of [`127.0.0.1:${port}`, `localhost:${port}`]) {
      const get = (path: string) => board.request('GET', path, { token: null, headers: { host } })
      const issuer = `http://${host}`
      const { body } = await get('/.well-known/oauth-protected-resource')
      expect(body).toMatchObject({ resource: `${issuer}/api/mcp`, authorization_servers: [issuer] })
      expect((await get('/.well-known/oauth-protected-resource/api/mcp')).body).toEqual(body)
      expect((await get('/.well-known/oauth-authorization-server')).body).toMatchObject({
        issuer,
        authorization_endpoint: `${issuer}/api/oauth/authorize`,
        token_endpoint: `${issuer}/api/oauth/token`,
        registration_endpoint: `${issuer}/api/oauth/register`,
        code_challenge_methods_supported: ['S256'],
        token_endpoint_auth_methods_supported: ['none'],
      })
    }
  })

  it('is referenced by a 401 of the tools, and of nothing else', async () => {
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
    const challenge = `Bearer resource_metadata="${board.url}/.well-known/oauth-protected-resource/api/mcp"`
    for (const token of [null, 'svc_ot_nonsense']) {
      const { status, headers } = await board.request('POST', '/api/mcp', { token, body })
      expect([status, headers.get('www-authenticate')]).toEqual([401, challenge])
    }
    const other = await board.request('GET', '/api/projects', { token: null })
    expect([other.status, other.headers.get('www-authenticate')]).toEqual([401, 'Bearer'])
  })

  it('has the public address if there is one', async () => {
    const behind = await startBoard({ publicUrl: 'https://board.example.org/team/' })
    const { body } = await behind.request('GET', '/.well-known/oauth-authorization-server', { token: null })
    expect(body.issuer).toBe('https://board.example.org/team')
    expect(body.token_endpoint).toBe('https://board.example.org/team/api/oauth/token')
    await behind.close()
  })
})

describe('a registered app', () => {
  it('gets an id and no secret, and the response states its client type', async () => {
    const { status, body } = await register(board, { token_endpoint_auth_method: 'client_secret_post', scope: 'run' })
    expect([status, body]).toEqual([
      201,
      {
        client_id: expect.stringMatching(/^[\w-]{22}$/),
        client_name: 'Probe',
        redirect_uris: [redirectUri],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: 'none',
      },
    ])
  })

  it('is deleted after a day if no user allowed it, and kept otherwise', async () => {
    const [unused, used] = [await connectedApp(board), await connectedApp(board)]
    await used.connect(ada)
    aheadMs += 25 * hourMs
    await runJob('delete app grants')
    expect((await unused.ask()).body.error.code).toBe('APP_UNKNOWN')
    expect((await used.ask()).status).toBe(302)
    ada = (await board.as().auth.login({ email: 'ada@example.org', password })).token
  })
})

describe('a user who is asked for authorization', () => {
  it("sees the app's name, the redirect URI and the requested permissions", async () => {
    const app = await connectedApp(board, { client_name: 'Pro\u202ebe\u200b  two' })
    const request = await app.request({ scope: 'read work unheard-of' })
    expect(await board.as(ada).oauth.request({ request })).toEqual({
      name: 'Probe two',
      leadsTo: 'https://app.example.org',
      access: ['read', 'work'],
    })
    expect((await board.as(ada).oauth.request({ request: await app.request() })).access).toEqual([
      'read',
      'work',
      'run',
    ])
  })

  it('allows it: the app gets a code with its state and the issuer, and tokens for it', async () => {
    const app = await connectedApp(board)
    const answer = await app.approved(ada, { access: 'work' })
    expect(answer.href.split('?')[0]).toBe(redirectUri)
    expect(Object.fromEntries(answer.searchParams)).toEqual({
      code: expect.stringMatching(/^svc_oc_/),
      state: 'state-of-the-app',
      iss: board.url,
    })
    const { status, body, headers } = await app.trade(answer.searchParams.get('code')!, {
      resource: `${board.url}/api/mcp`,
    })
    expect([status, headers.get('cache-control')]).toEqual([200, 'no-store'])
    expect(body).toEqual({
      access_token: expect.stringMatching(/^svc_ot_/),
      token_type: 'Bearer',
      expires_in: 3600,
      refresh_token: expect.stringMatching(/^svc_or_/),
      scope: 'read work',
    })
    const me = await board.as(body.access_token).auth.me()
    expect(me).toMatchObject({ email: 'ada@example.org', token: { kind: 'key', name: 'Probe', scope: 'server' } })
    expect(Date.parse(me.token.expiresAt!) - Date.now() - aheadMs).toBeLessThanOrEqual(hourMs)
    expect(me.token.permissions).toEqual(permissionsOf('work'))
    expect([await addCard(body.access_token), await statusOf(body.access_token, '/api/keys')]).toEqual([201, 403])
  })

  it('allows only reading, or only one project', async () => {
    const reader = await (await connectedApp(board)).connect(ada, { access: 'read' })
    expect(reader.scope).toBe('read')
    expect([await statusOf(reader.access_token, cardsOf(projectId)), await addCard(reader.access_token)]).toEqual([
      200, 403,
    ])
    const worker = await (await connectedApp(board)).connect(ada, { access: 'run', projectId })
    expect([await addCard(worker.access_token), await statusOf(worker.access_token, cardsOf(otherProjectId))]).toEqual([
      201, 404,
    ])
  })

  it('refuses it: the app gets an error and no token', async () => {
    const app = await connectedApp(board)
    const request = await app.request()
    const keyIds = async () => (await board.as(ada).keys.list()).map(({ id }) => id)
    const before = await keyIds()
    const { redirectTo } = await board.as(ada).oauth.refuse({ request })
    expect(Object.fromEntries(new URL(redirectTo).searchParams)).toEqual({
      error: 'access_denied',
      state: 'state-of-the-app',
      iss: board.url,
    })
    expect(await keyIds()).toEqual(before)
  })

  it('finds it among the keys, revokes it immediately, and cannot rotate it', async () => {
    const app = await connectedApp(board)
    const { access_token: token, refresh_token: refreshToken } = await app.connect(ada, { projectId })
    const key = (await board.as(ada).keys.list()).at(-1)!
    expect(key).toMatchObject({
      name: 'Probe',
      app: 'https://app.example.org',
      prefix: 'svc_ot_',
      lastFour: '',
      scope: 'project',
      projectId,
    })
    await expect(board.as(ada).keys.rotate({ id: key.id })).rejects.toMatchObject({ code: 'CONFLICT' })
    const live = await openSocket(board.url, token)
    await board.as(ada).keys.revoke({ id: key.id })
    await eventually('the end of the socket', () => live.closed)
    expect(await statusOf(token)).toBe(401)
    expect((await app.refresh(refreshToken)).body.error).toBe('invalid_grant')
  })

  it('has one key per app: the earlier authorization of the app ends', async () => {
    const app = await connectedApp(board)
    const first = await app.connect(ada)
    const second = await app.connect(ada, { access: 'read' })
    expect([await statusOf(first.access_token), await statusOf(second.access_token)]).toEqual([401, 200])
  })
})

describe('tokens', () => {
  it('expire after an hour, and can be renewed while they are in use', async () => {
    const app = await connectedApp(board)
    let tokens: Tokens = await app.connect(ada)
    aheadMs += hourMs + 1000
    const ended = await board.request('GET', '/api/auth/me', { token: tokens.access_token })
    expect([ended.status, ended.body.error.code]).toEqual([401, 'TOKEN_EXPIRED'])
    for (let days = 0; days < 60; days += 20) {
      tokens = (await app.refresh(tokens.refresh_token, { scope: 'read work' })).body
      expect(await statusOf(tokens.access_token)).toBe(200)
      aheadMs += 20 * dayMs
    }
    aheadMs += 11 * dayMs
    expect((await app.refresh(tokens.refresh_token)).body.error).toBe('invalid_grant')
    ada = (await board.as().auth.login({ email: 'ada@example.org', password })).token
  })

  it('are revoked by the app: one, or all with the refresh token', async () => {
    const app = await connectedApp(board)
    const first = await app.connect(ada)
    const second: Tokens = (await app.refresh(first.refresh_token)).body
    expect((await app.revoke(first.access_token, { token_type_hint: 'access_token' })).status).toBe(200)
    expect([await statusOf(first.access_token), await statusOf(second.access_token)]).toEqual([401, 200])
    expect((await app.revoke(second.refresh_token)).status).toBe(200)
    expect(await statusOf(second.access_token)).toBe(401)
    expect([(await app.revoke('svc_or_unheard-of')).status, (await app.revoke(second.refresh_token)).status]).toEqual([
      200, 200,
    ])
  })

  it('are stored as hashes only', async () => {
    const app = await connectedApp(board)
    const code = await app.code(ada)
    const tokens: Tokens = (await app.trade(code)).body
    await eventually('what was written', () => board.stored().includes(app.clientId))
    for (const secret of [code, tokens.access_token, tokens.refresh_token]) expect(board.stored()).not.toContain(secret)
  })
})

/** Runs a periodic job of the server now. */
async function runJob(name: string): Promise<void> {
  const { periodicJobs: jobs } = await import('../../daemon/process/periodicJobs.ts')
  await jobs(board.server.app)
    .find(each => each.name.startsWith(name))!
    .run(new AbortController().signal)
}
