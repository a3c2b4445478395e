import { createServer } from 'node:http'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import type { ServerConfig } from '../../src/config/server.ts'
import { startCredentialProvider } from '../support/identity/fakeCredentialProvider.ts'
import { startBoard, type Reply, type TestBoard } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'

const asked: string[] = []
/** The target that must not be reached: a service on the server's own machine that trusts every client. */
const inside = createServer((request, response) => {
  asked.push(request.url!)
  response.writeHead(200, { 'content-type': 'application/json' }).end('{"issuer":"x","secret":"of the inside"}')
})
let port: number
const boards: TestBoard[] = []
beforeAll(async () => {
  await new Promise<void>(resolve => inside.listen(0, '127.0.0.1', resolve))
  port = (inside.address() as { port: number }).port
})
afterEach(() => {
  asked.length = 0
})
afterAll(async () => {
  for (const board of boards) await board.close()
  inside.close()
})

const codeOf = ({ status, body }: Reply) => [status, body.error?.code]

/** A server that others can reach, with an account of the role user and one of the role admin. */
async function served(config: Partial<ServerConfig>): Promise<{ board: TestBoard; plain: string; admin: string }> {
  const board = await startBoard({
    allowPrivateWebhooks: false,
    lookup: (_, __, callback) => setImmediate(callback, null, [{ address: '127.0.0.1', family: 4 }]),
    ...config,
  })
  boards.push(board)
  await board.client.auth.setup({ email: 'root@example.org', password: 'root password' })
  await board.client.auth.setSettings({ enabled: true, registrationEnabled: true })
  const [plain, admin] = await Promise.all(
    ['plain', 'admin'].map(name =>
      board.client.auth.register({ email: `${name}@example.org`, password: 'some password' }),
    ),
  )
  await board.client.users.update({ id: admin!.user.id, role: 'admin' })
  return { board, plain: plain!.token, admin: admin!.token }
}
const targets = () => [
  `http://127.0.0.1:${port}`,
  `http://localhost:${port}`,
  `http://[::ffff:127.0.0.1]:${port}`,
  `http://rebound.example.org:${port}`,
  `http://2130706433:${port}`,
]
const keep = async (board: TestBoard, token: string, baseUrl: string) =>
  (await board.as(token).credentials.create({ name: 'c', provider: 'custom', apiKey: 'sk-some-0123456789', baseUrl }))
    .id

it.each<[string, Partial<ServerConfig>]>([
  ['behind a proxy', { publicUrl: 'https://board.example.org', trustProxy: true }],
  ['under a public address', { publicUrl: 'https://board.example.org' }],
])("a plain user's credential cannot reach the network of a server %s", async (_, config) => {
  const { board, plain, admin } = await served(config)
  for (const baseUrl of targets()) {
    const id = await keep(board, plain, baseUrl)
    const open = await board.request('POST', `/api/credentials/${id}/verify`, { token: plain })
    expect(open.body.data).toMatchObject({
      valid: false,
      detail: 'The provider could not be reached: the connection failed.',
    })
    const { id: closed } = await board.as(plain).credentials.create({
      name: 'c',
      provider: 'custom',
      apiKey: 'sk-some-0123456789',
      baseUrl: baseUrl.replace(String(port), '9'),
    })
    expect((await board.request('POST', `/api/credentials/${closed}/verify`, { token: plain })).body.data).toEqual(
      open.body.data,
    )
    for (const provider of ['custom', 'github', 'google'])
      expect(
        codeOf(
          await board.request('POST', '/api/credentials/oauth/init', {
            token: plain,
            body: { provider, name: 'n', baseUrl, clientId: 'c' },
          }),
        ),
        `${provider} ${baseUrl}`,
      ).toEqual([503, 'PROVIDER_UNAVAILABLE'])
  }
  expect(asked).toEqual([])
  await board.as(admin).credentials.verify({ id: await keep(board, admin, targets()[0]!) })
  expect(asked).toEqual(['/models'])
})

it("on a server that listens on loopback only, a plain user's credential can use a local model", async () => {
  const { board, plain } = await served({})
  await board.as(plain).credentials.verify({ id: await keep(board, plain, targets()[0]!) })
  expect(asked).toEqual(['/models'])
})

it('a plain user has no project outside of the project roots on a server behind a proxy', async () => {
  const { board, plain } = await served({ publicUrl: 'https://board.example.org', trustProxy: true })
  expect(
    codeOf(await board.request('POST', '/api/projects', { token: plain, body: { name: 'All', path: '/' } })),
  ).toEqual([403, 'PATH_OUTSIDE_ROOTS'])
})

it("notifications are not sent into the server's network, under any name", async () => {
  const { board, plain, admin } = await served({})
  for (const token of [plain, admin])
    for (const webhookUrl of [
      ...targets(),
      'http://169.254.169.254/latest/meta-data/',
      'http://[fe80::1]/',
      'http://10.0.0.1/',
    ])
      expect(
        codeOf(await board.request('PUT', '/api/settings/notifications', { token, body: { webhookUrl } })),
        webhookUrl,
      ).toEqual([400, 'WEBHOOK_TARGET_REFUSED'])
  for (const webhookUrl of [
    'file:///etc/passwd',
    'gopher://127.0.0.1/',
    'http://user:pass@example.org/',
    'javascript:alert(1)',
  ])
    expect(
      codeOf(await board.request('PUT', '/api/settings/notifications', { token: plain, body: { webhookUrl } })),
      webhookUrl,
    ).toEqual([400, 'VALIDATION_FAILED'])
  expect(asked).toEqual([])
})

it('only a super_admin can configure an identity provider or a receiver of the log, and http only for this machine', async () => {
  const { board, plain, admin } = await served({})
  const oidc = { issuerUrl: `http://127.0.0.1:${port}`, clientId: 'c', clientSecret: 's' }
  for (const token of [plain, admin]) {
    expect(codeOf(await board.request('POST', '/api/settings/oidc', { token, body: oidc }))).toEqual([403, 'FORBIDDEN'])
    expect(
      codeOf(
        await board.request('PUT', '/api/settings/log-export', {
          token,
          body: { enabled: true, endpoint: oidc.issuerUrl },
        }),
      ),
    ).toEqual([403, 'FORBIDDEN'])
    for (const path of ['/api/oidc/test', '/api/settings/log-export/test'])
      expect(codeOf(await board.request('POST', path, { token })), path).toEqual([403, 'FORBIDDEN'])
  }
  for (const issuerUrl of [
    'http://10.0.0.1',
    'http://169.254.169.254/',
    'http://localhost.evil.example',
    'file:///etc',
    'ftp://127.0.0.1',
  ])
    expect(
      codeOf(await board.request('POST', '/api/settings/oidc', { body: { ...oidc, issuerUrl } })),
      issuerUrl,
    ).toEqual([400, 'VALIDATION_FAILED'])
  for (const endpoint of [
    'file:///etc/passwd',
    `http://user:secret@127.0.0.1:${port}`,
    `http://127.0.0.1:${port}/?key=secret`,
  ])
    expect(
      codeOf(await board.request('PUT', '/api/settings/log-export', { body: { enabled: true, endpoint } })),
      endpoint,
    ).toEqual([400, 'VALIDATION_FAILED'])
  expect(asked).toEqual([])
})

it('an authorization from before the server was public is neither polled nor renewed in its network', async () => {
  const provider = await startCredentialProvider()
  const before = await startBoard()
  await before.client.auth.setup({ email: 'root@example.org', password: 'root password' })
  const { token } = await before.client.auth.register({ email: 'plain@example.org', password: 'some password' })
  const begin = async (on: TestBoard) =>
    (
      await on.request('POST', '/api/credentials/oauth/init', {
        token,
        body: { provider: 'custom', baseUrl: provider.url, clientId: 'c' },
      })
    ).body.data.credentialId as string
  provider.outcome = { access_token: 'old', refresh_token: 'r', expires_in: 1 }
  const complete = await begin(before)
  await eventually(
    'its end',
    async () => (await before.as(token).credentials.oauthStatus({ id: complete })).status === 'complete',
  )
  provider.outcome = 'authorization_pending'
  const pending = await begin(before)
  await before.server.stop()
  const seen = provider.seen.length
  const after = await startBoard({
    dataDir: before.dataDir,
    allowPrivateWebhooks: false,
    publicUrl: 'https://board.example.org',
  })
  const intervalSecs = async () =>
    JSON.parse(
      (await after.server.app.db.get<{ oauth: string }>('SELECT oauth FROM credentials WHERE id = ?', [
        Number(pending),
      ]))!.oauth,
    ).intervalSecs
  expect((await after.as(token).credentials.oauthStatus({ id: pending })).status).toBe('pending')
  expect(await after.as(token).credentials.verify({ id: complete })).toMatchObject({
    valid: false,
    detail: 'The provider could not be reached: the connection failed.',
  })
  await eventually('a question that failed', async () => (await intervalSecs()) === 6)
  expect(provider.seen).toHaveLength(seen)
  await after.close()
  await before.close()
  await provider.close()
})
