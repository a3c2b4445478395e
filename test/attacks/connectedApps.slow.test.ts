import { afterAll, beforeAll, expect, it } from 'vitest'
import {
  connectedApp,
  challengeOf,
  redirectUri,
  register,
  sealedIn,
  type Tokens,
} from '../support/identity/connectedApp.ts'
import { startBoard, type Reply, type TestBoard } from '../support/servers/testBoard.ts'

const password = 'a long password'
const otherVerifier = 'v'.repeat(43)
let board: TestBoard
let ada: string
let bob: string
let aheadMs = 0
let adasProject: string

beforeAll(async () => {
  board = await startBoard({ clock: () => new Date(Date.now() + aheadMs), trustProxy: true })
  ada = (await board.as().auth.setup({ email: 'ada@example.org', password })).token
  await board.as(ada).auth.setSettings({ enabled: true, registrationEnabled: true })
  bob = (await board.as().auth.register({ email: 'bob@example.org', password })).token
  adasProject = (await board.as(ada).projects.create({ name: 'roof', path: board.folder('roof') })).id
})
afterAll(() => board.close())

const statusOf = async (token: string) => (await board.request('GET', '/api/auth/me', { token })).status
const errorOf = ({ status, body }: Reply) => [status, body.error?.code ?? body.error]
const keysOf = async (token: string) => (await board.as(token).keys.list()).length
const events = async () =>
  (await board.as(ada).audit.list({ action: 'oauth.token', limit: 50 })).items.map(({ detail }) => detail.code)

it.each([
  'javascript:alert(1)//x.y',
  'data:text/html,x',
  'file:///etc/passwd',
  'blob:https://app.example.org/x',
  'http://app.example.org/callback',
  'http://localhost.example.org/callback',
  'http://127.0.0.1.example.org/callback',
  'https://app.example.org/callback#fragment',
  'https://app.example.org@evil.example.org/callback',
  'https://app.example.org/call back',
  'https://app.example.org/\u202e',
  'ftp://app.example.org/callback',
  'vbscript:x',
  '/callback',
  '*',
])('the registration of an app with the address %s is rejected', async uri => {
  expect(errorOf(await register(board, { redirect_uris: [redirectUri, uri] }))).toEqual([400, 'invalid_redirect_uri'])
})

it('a response is sent only to a registered address, compared exactly, and the browser is redirected to no other', async () => {
  const app = await connectedApp(board)
  for (const uri of [
    'https://app.example.org/callback/',
    'https://app.example.org/callback?x=1',
    'https://app.example.org/callback/../other',
    'https://app.example.org:8443/callback',
    'https://APP.example.org/callback',
    'https://app.example.org.evil.example.org/callback',
    'http://app.example.org/callback',
    'https://evil.example.org/callback',
    'http://localhost:1/callback',
    '',
  ]) {
    const { status, headers } = await app.ask({ redirect_uri: uri })
    expect([uri, status, headers.get('location')]).toEqual([uri, 400, null])
  }
  for (const more of [
    { response_type: 'token' },
    { code_challenge_method: 'plain' },
    { code_challenge_method: undefined },
    { code_challenge: undefined },
    { code_challenge: 'short' },
    { resource: 'https://other.example.org/api/mcp' },
    { resource: `${board.url}/api/projects` },
  ]) {
    const reply = await app.ask(more)
    expect([more, ...errorOf(reply), reply.headers.get('location')]).toEqual([more, 400, 'APP_REQUEST_INVALID', null])
  }
})

it('on loopback any port is accepted, and no other path, name or scheme', async () => {
  const app = await connectedApp(board, { redirect_uris: ['http://127.0.0.1/callback'] })
  const statuses = async (uri: string) => (await app.ask({ redirect_uri: uri })).status
  expect(await statuses('http://127.0.0.1:49152/callback')).toBe(302)
  for (const uri of ['http://127.0.0.1:49152/other', 'http://localhost:49152/callback', 'https://127.0.0.1/callback'])
    expect([uri, await statuses(uri)]).toEqual([uri, 400])
})

it('a stolen code is invalid for another app or with another verifier, and is revoked', async () => {
  const other = await connectedApp(board)
  for (const more of [
    { client_id: other.clientId },
    { code_verifier: otherVerifier },
    { code_verifier: undefined },
    { redirect_uri: 'https://evil.example.org/callback' },
  ]) {
    const app = await connectedApp(board)
    const code = await app.code(ada)
    expect([more, ...errorOf(await app.trade(code, more))]).toEqual([more, 400, 'invalid_grant'])
    expect(errorOf(await app.trade(code))).toEqual([400, 'invalid_grant'])
  }
  expect(await events()).toContain('CODE_REFUSED')
})

it('a repeated code revokes the tokens of the first exchange, also if both arrive at once, and expires after a minute', async () => {
  const app = await connectedApp(board)
  const code = await app.code(ada)
  const tokens: Tokens = (await app.trade(code)).body
  expect(errorOf(await app.trade(code))).toEqual([400, 'invalid_grant'])
  expect(await statusOf(tokens.access_token)).toBe(401)
  expect(errorOf(await app.refresh(tokens.refresh_token))).toEqual([400, 'invalid_grant'])
  const raced = await app.code(ada)
  const replies = await Promise.all([app.trade(raced), app.trade(raced), app.trade(raced)])
  expect(replies.filter(({ status }) => status === 200).length).toBeLessThanOrEqual(1)
  for (const { body } of replies) if (body.access_token) expect(await statusOf(body.access_token)).toBe(401)
  const late = await app.code(ada)
  aheadMs += 61_000
  expect(errorOf(await app.trade(late))).toEqual([400, 'invalid_grant'])
  expect(await events()).toContain('CODE_REUSED')
})

it('a repeated refresh token revokes all tokens, and is invalid for another app', async () => {
  const [app, other] = [await connectedApp(board), await connectedApp(board)]
  const first = await app.connect(ada)
  expect(errorOf(await app.refresh(first.refresh_token, { client_id: other.clientId }))).toEqual([400, 'invalid_grant'])
  expect(errorOf(await app.revoke(first.refresh_token, { client_id: other.clientId }))).toEqual([400, 'invalid_client'])
  expect(errorOf(await app.refresh(first.refresh_token, { resource: 'https://other.example.org' }))).toEqual([
    400,
    'invalid_target',
  ])
  const second: Tokens = (await app.refresh(first.refresh_token)).body
  expect(await statusOf(second.access_token)).toBe(200)
  expect(errorOf(await app.refresh(first.refresh_token))).toEqual([400, 'invalid_grant'])
  expect([await statusOf(first.access_token), await statusOf(second.access_token)]).toEqual([401, 401])
  expect(errorOf(await app.refresh(second.refresh_token))).toEqual([400, 'invalid_grant'])
  expect(await events()).toContain('REFRESH_TOKEN_REUSED')
})

it('no token is accepted in place of another kind', async () => {
  const app = await connectedApp(board)
  const code = await app.code(ada)
  expect(errorOf(await app.refresh(code))).toEqual([400, 'invalid_grant'])
  const tokens: Tokens = (await app.trade(code)).body
  expect([await statusOf(code), await statusOf(tokens.refresh_token)]).toEqual([401, 401])
  expect(errorOf(await app.trade(tokens.refresh_token))).toEqual([400, 'invalid_grant'])
  expect(errorOf(await app.refresh(tokens.access_token))).toEqual([400, 'invalid_grant'])
  expect(await statusOf(tokens.access_token)).toBe(200)
})

it('a request is decided once, by a signed-in user, unmodified, and within ten minutes', async () => {
  const app = await connectedApp(board)
  const request = await app.request({ scope: 'read' })
  const approve = (token: string | null, more: object = {}) =>
    board.request('POST', '/api/oauth/approve', { token, body: { request, access: 'read', ...more } })
  const { access_token: appToken } = await app.connect(ada, { access: 'run' })
  const { key } = await board.as(ada).keys.create({ name: 'k', scope: 'server', permissions: ['cards.read'] })
  expect([(await approve(null)).status, (await approve(appToken)).status, (await approve(key)).status]).toEqual([
    401, 403, 403,
  ])
  expect(errorOf(await approve(ada, { access: 'run' }))).toEqual([400, 'VALIDATION_FAILED'])
  const middle = request.length >> 1
  const other = request[middle] === 'A' ? 'B' : 'A'
  for (const changed of [
    request.slice(0, -8),
    'nonsense',
    request.slice(0, middle) + other + request.slice(middle + 1),
  ])
    expect(errorOf(await approve(ada, { request: changed }))).toEqual([400, 'APP_REQUEST_ENDED'])
  // Another user's project looks missing.
  expect(errorOf(await approve(bob, { projectId: adasProject }))).toEqual([404, 'PROJECT_NOT_FOUND'])
  const before = await keysOf(bob)
  const again = sealedIn(await app.ask())
  expect((await approve(bob, { request: again })).status).toBe(200)
  expect(errorOf(await approve(bob, { request: again }))).toEqual([400, 'APP_REQUEST_ENDED'])
  expect(await keysOf(bob)).toBe(before + 1)
  const late = await app.request()
  aheadMs += 601_000
  expect(errorOf(await approve(ada, { request: late }))).toEqual([400, 'APP_REQUEST_ENDED'])
})

it("an authorization belongs to one user: the app sees that user's records, and loses access with the account", async () => {
  const app = await connectedApp(board)
  const { token: carol, user } = await board.as().auth.register({ email: 'carol@example.org', password })
  const tokens = await app.connect(carol, { access: 'run' })
  expect(
    (await board.request('GET', `/api/projects/${adasProject}/cards`, { token: tokens.access_token })).status,
  ).toBe(404)
  expect((await board.request('GET', '/api/keys', { token: tokens.access_token })).status).toBe(403)
  await board.as(ada).users.delete({ id: user.id })
  expect(await statusOf(tokens.access_token)).toBe(401)
  expect(errorOf(await app.refresh(tokens.refresh_token))).toEqual([400, 'invalid_grant'])
})

it('a form with a duplicate field, as JSON, or from a foreign page is rejected', async () => {
  const app = await connectedApp(board)
  const post = (raw: string, headers: Record<string, string>) =>
    board.request('POST', '/api/oauth/token', { token: null, raw, headers })
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  expect(errorOf(await post(`client_id=${app.clientId}&client_id=x`, form))).toEqual([400, 'invalid_request'])
  expect(errorOf(await post('{}', {}))).toEqual([415, 'invalid_request'])
  expect((await post('grant_type=password', { ...form, origin: 'https://evil.example.org' })).status).toBe(403)
  expect(errorOf(await post('grant_type=password', form))).toEqual([400, 'unsupported_grant_type'])
})

it('registrations of hundreds of apps are rejected, and displace no authorized app', async () => {
  const used = await connectedApp(board)
  await used.connect(ada)
  const from = (address: string) => register(board, {}, { 'x-forwarded-for': address })
  const replies: Reply[] = []
  for (let at = 0; at < 61; at++) replies.push(await from('203.0.113.9'))
  expect(replies.slice(0, 60).every(({ status }) => status === 201)).toBe(true)
  expect([replies[60]!.status, Number(replies[60]!.headers.get('retry-after')) > 60]).toEqual([429, true])
  expect((await from('203.0.113.10')).status).toBe(201)
  for (let at = 0; at < 1020; at++) await from(`198.51.${at >> 8}.${at & 255}`)
  const { total } = (await board.server.app.db.get<{ total: number }>(
    'SELECT count(*) AS total FROM oauth_clients WHERE approved_at IS NULL',
  ))!
  expect(total).toBe(1000)
  expect((await used.ask()).status).toBe(302)
})

it('no code, token, state or verifier is written into the log or the audit log', async () => {
  const app = await connectedApp(board)
  const code = await app.code(ada)
  const tokens: Tokens = (await app.trade(code)).body
  await app.refresh(tokens.refresh_token)
  await app.refresh(tokens.refresh_token)
  const text = JSON.stringify([
    await board.as(ada).audit.list({ limit: 100 }),
    await board.as(ada).logs.list({ limit: 500 }),
  ])
  for (const secret of [
    code,
    tokens.access_token,
    tokens.refresh_token,
    app.verifier,
    challengeOf(app.verifier),
    'state-of-the-app',
  ])
    expect(text).not.toContain(secret)
})
