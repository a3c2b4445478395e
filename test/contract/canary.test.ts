import { createHash, randomBytes } from 'node:crypto'
import { readFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { projectPermissions } from '../../src/contract/route.ts'
import { hashToken } from '../../src/domain/accounts/token.ts'
import { Browser } from '../support/identity/browser.ts'
import { createCanary, namesIn, useWebhooks, type Canary } from '../support/contract/canary.ts'
import { commandLine } from '../support/commands/commandLine.ts'
import {
  canaryDeviceCode,
  startCredentialProvider,
  type FakeCredentialProvider,
} from '../support/identity/fakeCredentialProvider.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { startIdentityProvider, type IdentityProvider } from '../support/identity/identityProvider.ts'
import { openSocket } from '../support/receivers/liveSocket.ts'
import { fileBody } from '../support/contract/seed.ts'
import { reply, startReceiver, type OtlpReceiver } from '../support/receivers/otlpReceiver.ts'
import { isCallback, isLoopback, loopback } from '../support/identity/singleSignOn.ts'

const random = (what: string) => `${what}-${randomBytes(12).toString('base64url')}`
/** Some contain characters that JSON and addresses encode. */
const newPassword = () => `pässwört "${random('canary')}" & 100%`
/** A client that sends a secret as the name of a field gets that name back in the error. */
const backToSender = 'a secret for the name of a field'
const far = { 'x-forwarded-for': '203.0.113.7' }

let canary: Canary
let provider: FakeCredentialProvider
let identityProvider: IdentityProvider
let receiver: OtlpReceiver
let onDisk: Array<{ name: string; bytes: Buffer }>
const [key, setupCode, oauthClientSecret] = [randomBytes(32), random('setup'), random('oauth-client')]
const env = {
  BOARD_SECRET_KEY: key.toString('base64'),
  BOARD_SETUP_CODE: setupCode,
  BOARD_OAUTH_GITHUB_CLIENT_ID: 'board',
  BOARD_OAUTH_GITHUB_CLIENT_SECRET: oauthClientSecret,
  BOARD_ALLOW_PRIVATE_WEBHOOKS: '1',
}

/** Every route with a secret is used here, with valid and invalid input. */
beforeAll(async () => {
  canary = createCanary()
  provider = await startCredentialProvider()
  await canary.start(env)
  for (const [what, value] of [
    ['BOARD_SECRET_KEY', env.BOARD_SECRET_KEY],
    ['the bytes of BOARD_SECRET_KEY', key],
    ['the setup code', setupCode],
    ['the secret of the OAuth client', oauthClientSecret],
  ] as const)
    canary.keep(what, value)
  const local = canary.keep(
    'the local token',
    JSON.parse(readFileSync(join(canary.dataDir, 'daemon.json'), 'utf8')).token as string,
  )
  const root = await setUp()
  await exportLog(root)
  const ada = await signUp(root)
  const { key: apiKey, projectId } = await useKeys(root)
  await useWebhooks(canary, root, projectId, provider.url)
  for (const use of [useCredentials, authorizeDevice]) await use(root)
  const single = await signOn(root)
  for (const [who, token] of Object.entries({ local, root, ada, apiKey, single })) await misuse(who, token)
  await takeOut(root, projectId)
  await fail(root, projectId)
  await useCommandLine(root)
  await eventually(
    'the log to be written and sent',
    () =>
      receiver.records().some(({ message }) => message.startsWith('PUT /api/settings')) &&
      canary.files().some(({ name, bytes }) => name.startsWith('logs.db') && bytes.includes('A sign-in failed.')),
    60_000,
  )
  const backup = await backUp(root)
  onDisk = [...canary.files(), backup]
  await restart(root)
  onDisk.push(...canary.files())
})

afterAll(async () => {
  await canary.close()
  await provider?.close()
  await identityProvider?.close()
  await receiver?.close()
})

const post = (name: string, path: string, body: unknown, token?: string, headers?: Record<string, string>) =>
  canary.ask(name, 'POST', path, { body, token, headers })

async function setUp(): Promise<string> {
  const first = {
    email: 'root@example.org',
    displayName: 'Canary root',
    password: canary.keep('the first password', newPassword()),
  }
  const wrongCode = canary.keep('a setup code that is wrong', random('wrong'))
  await post('setup without a code', '/api/auth/setup', first, undefined, far)
  await post('setup with a wrong code', '/api/auth/setup', { ...first, setupCode: wrongCode }, undefined, far)
  await post(
    'setup with too much',
    '/api/auth/setup',
    { ...first, setupCode, more: [setupCode, first.password] },
    undefined,
    far,
  )
  await post(
    'setup with a password for an address',
    '/api/auth/setup',
    { ...first, email: first.password, setupCode },
    undefined,
    far,
  )
  const { body } = await post('setup', '/api/auth/setup', { ...first, setupCode }, undefined, far)
  await post('setup again', '/api/auth/setup', { ...first, setupCode }, undefined, far)
  return canary.keep('the token of setup', body.data.token as string, 'setup')
}

/** Sends all later log entries also to a receiver, whose responses repeat them. */
async function exportLog(root: string): Promise<void> {
  receiver = await startReceiver()
  const header = canary.keep('a header of the log export', `Bearer ${random('header')}`)
  const set = (name: string, body: object) => canary.ask(name, 'PUT', '/api/settings/log-export', { token: root, body })
  await set('export the log badly', {
    endpoint: `http://user:${header.slice(7)}@127.0.0.1/?key=${header}`,
    headers: { 'a b': header },
  })
  await set('export the log', { enabled: true, endpoint: receiver.url, headers: { authorization: header } })
  receiver.answer = (response, { headers }) => {
    receiver.answer = undefined
    reply(response, 401, { message: `Nobody knows ${headers.authorization}` })
  }
  await post('try the export', '/api/settings/log-export/test', undefined, root)
  await canary.ask('read the export', 'GET', '/api/settings/log-export', { token: root })
}

async function signUp(root: string): Promise<string> {
  const ada = { email: 'ada@example.org', password: canary.keep('a password', newPassword()) }
  await canary.ask('registration on', 'PUT', '/api/settings/auth', {
    token: root,
    body: { enabled: true, registrationEnabled: true },
  })
  for (const [name, given] of [
    ['register', ada],
    ['register again', ada],
  ] as const)
    await post(name, '/api/auth/register', given, undefined, { 'idempotency-key': 'ada' })
  canary.keep(
    'the token of a registration',
    JSON.parse(
      canary.answers
        .find(({ name }) => name === 'register')!
        .text.split('\n')
        .at(-1)!,
    ).data.token as string,
    'register',
  )
  const mistyped = canary.keep('a password that is wrong', newPassword())
  await post('login with a wrong password', '/api/auth/login', { ...ada, password: mistyped })
  await post('login without an address', '/api/auth/login', { password: ada.password })
  await post('login the wrong way round', '/api/auth/login', { email: ada.password, password: ada.email })
  for (const [name, raw, headers] of [
    ['login that is cut off', JSON.stringify(ada).slice(0, -3), {}],
    [
      'login as a form',
      `password=${encodeURIComponent(ada.password)}`,
      { 'content-type': 'application/x-www-form-urlencoded' },
    ],
    ['login as text', JSON.stringify(ada.password), {}],
  ] as const)
    await canary.ask(name, 'POST', '/api/auth/login', { raw, headers })
  await canary.ask('login in the address', 'POST', `/api/auth/login?${new URLSearchParams(ada)}`, { body: ada })
  await makeAccounts(root)
  return canary.keep(
    'a sign-in token',
    (await post('login', '/api/auth/login', ada)).body.data.token as string,
    'login',
  )
}

async function makeAccounts(root: string): Promise<void> {
  const made = (
    await post(
      'create an account',
      '/api/admin/users',
      { email: 'made@example.org', name: 'Made', role: 'admin' },
      root,
      { 'idempotency-key': 'made' },
    )
  ).body.data
  canary.keep('a generated password', made.generatedPassword as string, 'create an account')
  const login = async (name: string, password: string) =>
    canary.keep(
      `the token of ${name}`,
      (await post(name, '/api/auth/login', { email: 'made@example.org', password })).body.data.token as string,
      name,
    )
  const live = await openSocket(canary.url, await login('login with a generated password', made.generatedPassword))
  const reset = await post('reset a password', `/api/admin/users/${made.user.id}/reset-password`, undefined, root)
  await login(
    'login after a reset',
    canary.keep('a password after a reset', reset.body.data.generatedPassword as string, 'reset a password'),
  )
  await live.untilClosed(60_000)
  await post('login with the old password', '/api/auth/login', {
    email: 'made@example.org',
    password: made.generatedPassword,
  })
  await canary.ask('list accounts', 'GET', '/api/admin/users', { token: root })
}

async function useKeys(root: string): Promise<{ key: string; projectId: string }> {
  const projectId = (
    await post('create a project', '/api/projects', { name: 'Canary project', path: canary.dataDir }, root)
  ).body.data.id as string
  const make = async (name: string) => {
    const { data } = (
      await post(
        name,
        '/api/keys',
        { name: 'k', scope: 'project', projectId, permissions: [...projectPermissions] },
        root,
        { 'idempotency-key': name },
      )
    ).body
    return { id: data.id as string, key: canary.keep(`the key of "${name}"`, data.key as string, name) }
  }
  const [used, turned, revoked] = [
    await make('create a key'),
    await make('create a key to rotate'),
    await make('create a key to revoke'),
  ]
  canary.keep(
    'a key that was rotated',
    (await post('rotate a key', `/api/keys/${turned.id}/rotate`, { graceSecs: 0 }, root)).body.data.key as string,
    'rotate a key',
  )
  await canary.ask('revoke a key', 'DELETE', `/api/keys/${revoked.id}`, { token: root })
  for (const [name, token] of [
    ['stats', used.key],
    ['stats with a rotated key', turned.key],
    ['stats with a revoked key', revoked.key],
  ] as const)
    await canary.ask(name, 'GET', `/api/external/projects/${projectId}/stats`, { token })
  await canary.ask('list keys', 'GET', '/api/keys', { token: root })
  const { id: cardId } = (
    await post('create a card', '/api/cards', { projectId, title: 'Canary card' }, used.key, {
      'idempotency-key': 'card',
    })
  ).body.data
  await canary.ask('attach a file', 'POST', `/api/projects/${projectId}/cards/${cardId}/attachments`, {
    token: used.key,
    ...fileBody('canary.txt', 'canary attachment'),
  })
  return { key: used.key, projectId }
}

async function useCredentials(root: string): Promise<void> {
  const [first, second] = [
    canary.keep("a provider's key", random('sk-first')),
    canary.keep('another key of a provider', random('sk-second')),
  ]
  const credential = { name: 'Canary credential', provider: 'custom', baseUrl: provider.url, apiKey: first }
  await post('keep a credential without a name', '/api/credentials', { ...credential, name: '' }, root)
  await post(
    'keep a credential with a space',
    '/api/credentials',
    { ...credential, apiKey: `${first} ${second}` },
    root,
  )
  await post(
    'keep a credential with the key in the address',
    '/api/credentials',
    { ...credential, baseUrl: `http://user:${first}@127.0.0.1/?key=${second}` },
    root,
  )
  await post('keep a credential for no provider', '/api/credentials', { ...credential, provider: first }, root)
  const { id } = (
    await post('keep a credential', '/api/credentials', credential, root, { 'idempotency-key': 'credential' })
  ).body.data
  provider.on('/models', ({ headers }, response) => {
    response
      .writeHead(401, { 'content-type': 'text/plain', 'x-echo': headers.authorization })
      .end(headers.authorization)
  })
  await post('verify a bad credential', `/api/credentials/${id}/verify`, undefined, root)
  await canary.ask('change a credential', 'PATCH', `/api/credentials/${id}`, { token: root, body: { apiKey: second } })
  provider.on('/models', (_, response) => {
    response.destroy()
  })
  await post('verify with a provider that breaks', `/api/credentials/${id}/verify`, undefined, root)
  for (const path of ['', `/${id}`, `/${id}/usage`])
    await canary.ask('read credentials', 'GET', `/api/credentials${path}`, { token: root })
}

async function authorizeDevice(root: string): Promise<void> {
  canary.keep('a device code', canaryDeviceCode)
  const tokens = {
    access_token: canary.keep('an access token', random('access')),
    refresh_token: canary.keep('a refresh token', random('refresh')),
    expires_in: 1,
  }
  provider.outcome = tokens
  provider.refreshed = {
    access_token: canary.keep('a refreshed access token', random('access-two')),
    refresh_token: canary.keep('a new refresh token', random('refresh-two')),
    expires_in: 3600,
  }
  const { credentialId } = (
    await post(
      'authorize a device',
      '/api/credentials/oauth/init',
      { provider: 'custom', baseUrl: provider.url, clientId: 'client', name: 'Canary device' },
      root,
    )
  ).body.data
  await eventually(
    'the authorization',
    async () =>
      (await canary.ask('status of a device', 'GET', `/api/credentials/${credentialId}/oauth/status`, { token: root }))
        .body.data.status === 'complete',
    60_000,
  )
  await post('verify a device', `/api/credentials/${credentialId}/verify`, undefined, root)
  expect(provider.seen.map(({ body }) => body.refresh_token).filter(Boolean)).toEqual([tokens.refresh_token])
}

async function signOn(root: string): Promise<string> {
  const { redirectUri } = (await canary.ask('read single sign-on', 'GET', '/api/settings/oidc', { token: root })).body
    .data
  identityProvider = await startIdentityProvider(redirectUri)
  identityProvider.people.set('eve', { email: 'eve@example.org', email_verified: true })
  const settings = {
    issuerUrl: identityProvider.issuer,
    clientId: 'board',
    clientSecret: canary.keep('the client secret', identityProvider.clientSecret),
  }
  await post(
    'set single sign-on badly',
    '/api/settings/oidc',
    { ...settings, issuerUrl: settings.clientSecret, more: settings.clientSecret },
    root,
  )
  for (const path of ['/api/settings/oidc', '/api/oidc/test'])
    await post('set and test single sign-on', path, path.endsWith('test') ? undefined : settings, root)
  const verifier = canary.keep('a verifier', randomBytes(32).toString('base64url'))
  const query = new URLSearchParams({ loopback, challenge: createHash('sha256').update(verifier).digest('base64url') })
  const browser = new Browser()
  const signIn = (stopAt: (url: URL) => boolean) =>
    browser.signIn(`${canary.url}/api/oidc/login?${query}`, 'eve', { stopAt })
  const callback = new URL((await signIn(isCallback)).url)
  canary.keep("a provider's code", callback.searchParams.get('code')!)
  canary.keep("a browser's secret", browser.cookiesFor(callback).split('=')[1]!)
  await canary.ask('come back in another browser', 'GET', callback.pathname + callback.search)
  const code = canary.keep('a one-time code', new URL((await signIn(isLoopback)).url).searchParams.get('code')!)
  await post('exchange with a wrong verifier', '/api/oidc/exchange', { code: `${code}x`, verifier })
  const { token } = (await post('exchange', '/api/oidc/exchange', { code, verifier })).body.data
  await post('exchange again', '/api/oidc/exchange', { code, verifier })
  return canary.keep('a token of single sign-on', token as string, 'exchange')
}

/** Sends a token in every wrong place. */
async function misuse(who: string, token: string): Promise<void> {
  const name = `misuse of ${who}`
  for (const authorization of [
    `Bearer ${token}`,
    `Bearer ${token}x`,
    `Basic ${token}`,
    token,
    `Bearer ${token} ${token}`,
  ])
    await canary.ask(name, 'GET', '/api/auth/me', { headers: { authorization } })
  for (const path of [
    `/api/projects/${token}`,
    `/api/nothing/${token}?token=${token}`,
    `/api/projects?token=${token}`,
    `/api/ws?token=${token}`,
    `/${token}`,
    `/api/oidc/callback?code=${token}&state=${token}`,
    `/api/external/projects/${token}/cards?limit=${token}`,
    `/api/logs?search=${token}`,
    `/api/filesystem/read?path=/${token}`,
    `/api/filesystem/browse?path=${canary.dataDir}/${token}`,
    `/api/filesystem/read?path=${canary.dataDir}/daemon.json`,
    `/api/filesystem/browse?path=${canary.dataDir}`,
  ])
    await canary.ask(name, 'GET', path, { token })
  for (const body of [{ token }, { projectId: token, title: '' }, token, [token]])
    await post(name, '/api/cards', body, token)
  await canary.ask(name, 'POST', '/api/cards', { token, raw: `{"title": "${token}` })
  await post(backToSender, '/api/cards', { [token]: 1 }, token)
  await canary.ask(name, 'DELETE', `/api/health?token=${token}`, {
    token,
    headers: { origin: `http://${token}.example`, 'if-match': `"${token}"`, 'x-request-id': token },
  })
  for (const each of [token, `${token}x`, token.slice(0, -1)]) await canary.listen(name, each)
}

/** Exports everything from a place with every kind of secret, and imports it again. */
async function takeOut(root: string, projectId: string): Promise<void> {
  const [{ id: credentialId }] = (await canary.ask('list credentials', 'GET', '/api/credentials', { token: root })).body
    .data
  const { id: organizationId } = (
    await post('create an organization', '/api/organizations', { name: 'Canary club' }, root)
  ).body.data
  await canary.ask('move a project', 'PATCH', `/api/projects/${projectId}`, { token: root, body: { organizationId } })
  for (const path of [
    `/api/projects/${projectId}/credential`,
    `/api/organizations/${organizationId}/default-credential`,
  ])
    expect((await canary.ask('choose a credential', 'PUT', path, { token: root, body: { credentialId } })).status).toBe(
      200,
    )
  await canary.ask('export a project', 'GET', `/api/projects/${projectId}/export`, { token: root })
  const { body } = await post('export an organization', '/api/export', { organizationId }, root)
  expect(body).toMatchObject({
    organization: { name: 'Canary club' },
    projects: [{ name: 'Canary project' }],
    cards: [{ title: 'Canary card' }],
    attachments: [{ filename: 'canary.txt' }],
    contents: [{}],
  })
  const imported = await canary.ask('import', 'POST', '/api/import?format=board', {
    token: root,
    ...fileBody('canary.json', JSON.stringify(body)),
  })
  expect(imported.status).toBe(201)
}

/** Makes the server fail, so that it logs the failure. */
async function fail(root: string, projectId: string): Promise<void> {
  const folder = join(canary.dataDir, 'attachments')
  const cards = (await canary.ask('list cards', 'GET', `/api/projects/${projectId}/cards`, { token: root })).body.data
  renameSync(folder, `${folder}.away`)
  const failed = await canary.ask(
    'attach without a folder',
    'POST',
    `/api/projects/${projectId}/cards/${cards[0].id}/attachments?token=${root}`,
    { token: root, ...fileBody() },
  )
  renameSync(`${folder}.away`, folder)
  expect(failed.status).toBe(500)
}

/** The content of a backup without the key. A backup with the key proves that secrets would be found. */
async function backUp(root: string): Promise<{ name: string; bytes: Buffer }> {
  const make = async (name: string, body: object) => {
    const { filename } = (await post(name, '/api/backups', body, root)).body.data as { filename: string }
    const bytes = gunzipSync(readFileSync(join(canary.dataDir, 'backups', filename)))
    return { filename, bytes }
  }
  const { filename, bytes } = await make('back up with the key', { withKey: true })
  expect(namesIn(bytes, canary.secrets)).toEqual(['BOARD_SECRET_KEY', 'the bytes of BOARD_SECRET_KEY'])
  await canary.ask('delete a backup', 'DELETE', `/api/backups/${filename}`, { token: root })
  return { name: 'a backup', bytes: (await make('back up', {})).bytes }
}

async function useCommandLine(root: string): Promise<void> {
  const cli = commandLine({ BOARD_URL: canary.url })
  const password = canary.keep('a password at the command line', newPassword())
  const apiKey = canary.keep("a provider's key at the command line", random('sk-third'))
  const runs: Array<[string[], string, Record<string, string>?]> = [
    [['auth', 'register', '--email', 'fay@example.org', '--password-stdin', '--debug'], password],
    [['auth', 'login', '--email', 'fay@example.org', '--password-stdin', '--debug'], `${password}wrong`],
    [['auth', 'login', '--with-token'], `${root}x`],
    [['auth', 'status'], ''],
    [['credentials', 'add', 'cli', '--provider', 'openai', '--api-key-stdin', '--debug'], apiKey],
    [['credentials', 'view', 'cli', '--json'], '', {}],
    [['settings', 'oidc', '--client-secret-stdin', '--debug'], identityProvider.clientSecret, { BOARD_TOKEN: root }],
    [['users', 'list', '--debug'], '', { BOARD_TOKEN: root }],
  ]
  const codes = []
  for (const [args, input, more] of runs) {
    const { code, stdout, stderr } = await cli.board(args, { input: input && `${input}\n`, env: more })
    canary.note(`board ${args.join(' ')}`, stdout + stderr)
    codes.push(code)
  }
  canary.keep(
    'the token that the command line keeps',
    JSON.parse(readFileSync(join(cli.home, '.config', 'board', 'config.json'), 'utf8')).profiles.default
      .token as string,
  )
  cli.close()
  expect(codes).toEqual([0, 4, 4, 0, 0, 0, 0, 0])
}

/** Starts the server with another key, which opens no secret, and with an invalid one. */
async function restart(root: string): Promise<void> {
  await canary.stop()
  const other = canary.keep('another BOARD_SECRET_KEY', randomBytes(32).toString('hex'))
  await canary.start({ ...env, BOARD_SECRET_KEY: other })
  canary.keep(
    'another local token',
    JSON.parse(readFileSync(join(canary.dataDir, 'daemon.json'), 'utf8')).token as string,
  )
  const { data } = (await canary.ask('list credentials', 'GET', '/api/credentials', { token: root })).body
  const replies = await Promise.all(
    data.map(({ id }: { id: string }) =>
      post('verify with another key', `/api/credentials/${id}/verify`, undefined, root),
    ),
  )
  replies.push(
    await canary.ask('sign on with another key', 'GET', '/api/oidc/login'),
    await post('try the export with another key', '/api/settings/log-export/test', undefined, root),
  )
  await canary.ask('read the log', 'GET', '/api/logs?limit=1000', { token: root })
  expect(replies.map(({ body }) => body.error.code)).toEqual(replies.map(() => 'SEALED_WITH_OTHER_KEY'))
  await canary.stop()
  onDisk.push(...canary.files())
  await canary.start({ ...env, BOARD_SECRET_KEY: canary.keep('a BOARD_SECRET_KEY that is none', random('no-key')) })
  expect(canary.url).toBe('ended with 2')
}

it('no secret is in the database, its log, an attachment or another file', () => {
  const found = onDisk.flatMap(({ name, bytes }) => namesIn(bytes, canary.secrets).map(what => ({ name, what })))
  expect(found.filter(({ name }) => name !== 'daemon.json')).toEqual([])
  expect([...new Set(found.map(({ what }) => what))]).toEqual(['the local token'])
})

it("no secret is in the server's log output", () => {
  expect(namesIn(canary.log(), canary.secrets)).toEqual([])
})

it('no secret is in the entries for a receiver of the log', () => {
  expect(receiver.requests.flatMap(({ text }) => namesIn(text, canary.secrets))).toEqual([])
  expect(receiver.misfits).toEqual([])
})

it('no response shows a secret except the one that creates it', () => {
  const shown = canary.answers
    .filter(({ name }) => name !== backToSender)
    .flatMap(({ name, text }) =>
      namesIn(
        text,
        canary.secrets.filter(({ shownIn }) => !shownIn.includes(name)),
      ).map(what => `${name}: ${what}`),
    )
  expect(shown).toEqual([])
})

it('no secret is in the arguments of a process', () => {
  expect(namesIn([...canary.commandLines].join('\n'), canary.secrets)).toEqual([])
})

it('all secrets were searched for in all possible places', () => {
  expect(canary.secrets.length).toBeGreaterThan(35)
  expect(canary.secrets.filter(({ value }) => value.length < 16)).toEqual([])
  for (const secret of canary.secrets)
    for (const name of secret.shownIn)
      expect(canary.answers.flatMap(each => (each.name === name ? namesIn(each.text, [secret]) : []))).toEqual([
        secret.what,
      ])
  const database = Buffer.concat(onDisk.filter(({ name }) => name.startsWith('board.db')).map(({ bytes }) => bytes))
  const token = canary.secrets.find(({ what }) => what === 'a sign-in token')!.value as string
  for (const marker of [
    hashToken(token),
    'Canary root',
    'Canary card',
    'Canary credential',
    'eve@example.org',
    '$argon2id$',
  ])
    expect([marker, database.includes(marker)]).toEqual([marker, true])
  expect(onDisk.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['board.db', 'board.db-wal', 'daemon.json', expect.stringMatching(/^attachments\/\w+$/)]),
  )
  for (const [name, file] of [
    ['the files', /^logs\/board\.log$/],
    ['the database', /^logs\.db/],
  ] as const) {
    const kept = Buffer.concat(onDisk.filter(each => file.test(each.name)).map(({ bytes }) => bytes))
    for (const marker of ['A sign-in failed.', 'POST /api/keys 201', '/attachments', 'ENOENT'])
      expect([name, marker, kept.includes(marker)]).toEqual([name, marker, true])
  }
  expect(receiver.records().length).toBeGreaterThan(20)
  expect(receiver.records().some(({ attributes }) => /ENOENT/.test(String(attributes['exception.stacktrace'])))).toBe(
    true,
  )
  for (const marker of [hashToken(token), 'Canary root', 'Canary card', 'canary attachment', '$argon2id$'])
    expect([marker, onDisk.find(({ name }) => name === 'a backup')!.bytes.includes(marker)]).toEqual([marker, true])
  expect(canary.log()).toMatch(/"level":"error".*\/attachments"/)
  expect(canary.log()).toContain('"message":"A socket is closed."')
  expect([...canary.commandLines].some(line => line.includes(canary.dataDir))).toBe(true)
})
