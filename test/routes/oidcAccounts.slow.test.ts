import { generateKeyPairSync } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { Browser } from '../support/identity/browser.ts'
import type { Client } from '../../src/client/index.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { startIdentityProvider, type IdentityProvider } from '../support/identity/identityProvider.ts'
import { codeOf, isCallback, startSingleSignOn, type SingleSignOn } from '../support/identity/singleSignOn.ts'
import { unlimited } from '../support/identity/tokenInfo.ts'

let sso: SingleSignOn
let board: TestBoard
let people: IdentityProvider['people']
const logged: string[] = []
const log = vi.spyOn(process.stderr, 'write')

beforeAll(async () => {
  log.mockImplementation(text => logged.push(String(text)) > 0)
  sso = await startSingleSignOn({ logLevel: 'info', allowPrivateWebhooks: true })
  board = sso.board
  people = sso.provider.people
})
afterAll(async () => {
  await sso.close()
  log.mockRestore()
})

const logIn = (email: string, password: string) =>
  board.request('POST', '/api/auth/login', { token: null, body: { email, password } })
const unverified = ['OIDC_REFUSED', 'The identity provider has not verified your email address.']

describe('an address that the provider', () => {
  const cases: Array<[how: string, value: boolean | string | undefined, isRequired: boolean, isAssumed: boolean]> = [
    ['sends as true', true, true, true],
    ['sends as "true"', 'true', true, true],
    ['sends as false', false, false, false],
    ['sends as "false"', 'false', false, false],
    ['sends as "1"', '1', false, false],
    ['does not state', undefined, false, true],
  ]
  it.each(cases)('%s is accepted or refused as the setting states', async (how, value, isRequired, isAssumed) => {
    const isAccepted = async (emailVerification: 'required' | 'assumed') => {
      await sso.configure({ emailVerification })
      const subject = `${emailVerification}-${how.replaceAll(/\W/g, '')}`
      people.set(subject, { email: `${subject}@example.org`, ...(value !== undefined && { email_verified: value }) })
      return (await sso.signInFor(subject)).goTo.searchParams.has('code')
    }
    expect([await isAccepted('assumed'), await isAccepted('required')]).toEqual([isAssumed, isRequired])
  })

  it('does not verify is trusted only by a setting that the audit log has, and until the issuer changes', async () => {
    await sso.configure({ emailVerification: 'assumed' })
    const { items } = await board.client.audit.list({})
    expect(items.find(({ action }) => action === 'oidc.set')!.detail).toMatchObject({ emailVerification: 'assumed' })
    expect(await sso.configure()).toMatchObject({ emailVerification: 'assumed' })
    expect(await sso.configure({ issuerUrl: 'https://other.example' })).toMatchObject({ emailVerification: 'required' })
    expect(await sso.configure()).toMatchObject({ emailVerification: 'required' })
  })
})

describe('a user who signs in', () => {
  it('gets an account, and the same one the next time', async () => {
    people.set('ada', { email: 'Ada@Example.org', email_verified: true, name: 'Ada \u0007Lovelace' })
    const first = await sso.tokenOf('ada')
    expect(first.user).toEqual({
      id: expect.any(String),
      email: 'Ada@Example.org',
      displayName: 'Ada Lovelace',
      role: 'user',
    })
    expect(await board.as(first.token).auth.me()).toEqual({ ...first.user, token: unlimited('sign-in') })
    people.set('ada', { email: 'other@example.org', email_verified: false })
    const second = await sso.tokenOf('ada')
    expect(second.user).toEqual(first.user)
    expect(second.token).not.toBe(first.token)
    expect((await board.client.users.list({ search: 'ada@' })).users).toMatchObject([
      { id: first.user.id, authProvider: 'oidc' },
    ])
  })

  it('gets one account, also in two browsers at once', async () => {
    people.set('twice', { email: 'twice@example.org', email_verified: true })
    const both = await Promise.all([sso.tokenOf('twice'), sso.tokenOf('twice')])
    expect(both[0].user.id).toBe(both[1].user.id)
    expect((await board.client.users.list({ search: 'twice@' })).total).toBe(1)
  })

  it('has no password here', async () => {
    people.set('eve', { email: 'eve@example.org', email_verified: true })
    const { user } = await sso.tokenOf('eve')
    expect(user.displayName).toBe('eve')
    expect(codeOf(await logIn(user.email, 'correct horse 1'))).toEqual([401, 'INVALID_CREDENTIALS'])
    expect(codeOf(await board.request('POST', `/api/admin/users/${user.id}/reset-password`))).toEqual([
      409,
      'NOT_LOCAL_AUTH',
    ])
  })

  it('does not need open registration', async () => {
    await board.client.auth.setSettings({ enabled: true, registrationEnabled: false })
    people.set('new', { email: 'new@example.org', email_verified: true })
    expect((await sso.tokenOf('new')).user.role).toBe('user')
    await board.client.auth.setSettings({ enabled: true, registrationEnabled: true })
  })

  it('gets the memberships of the invitations to the verified address', async () => {
    const { id } = await board.client.projects.create({ name: 'Invited', path: board.folder('invited') })
    await board.client.members.add({ id, email: 'guest@example.org', role: 'viewer' })
    people.set('guest', { email: 'guest@example.org', email_verified: false })
    expect(await sso.refusalOf('guest')).toEqual(unverified)
    people.set('guest', { email: 'guest@example.org', email_verified: true })
    const { token } = await sso.tokenOf('guest')
    expect(await board.as(token).projects.list()).toMatchObject([{ id, accepted: false }])
  })

  it('sees the result on a page in the browser if no program waits for it', async () => {
    people.set('page', { email: 'page@example.org', email_verified: true })
    const shown = await new Browser().signIn(`${board.url}/api/oidc/login`, 'page')
    expect({ status: shown.status, path: new URL(shown.url).pathname }).toEqual({
      status: 200,
      path: '/api/oidc/callback',
    })
    expect(shown.body).toContain('page@example.org')
    expect(shown.body).toContain(`board --url ${board.url} auth login --oidc`)
    expect(shown.body).not.toMatch(/svc_|<script/)
    expect(shown.headers.get('content-security-policy')).toMatch(/^default-src 'none'; style-src 'sha256-/)
    expect(shown.setCookies).toEqual(['board_oidc=; Path=/api/oidc/callback; Max-Age=0; HttpOnly; SameSite=Lax'])
  })

  it('with an invalid subject or address is rejected', async () => {
    people.set('odd', { email: 'no address', email_verified: true })
    expect((await sso.refusalOf('odd'))[1]).toContain('not valid')
    people.set('zoë', { email: 'zoe@example.org', email_verified: true })
    expect((await sso.refusalOf('zoë'))[1]).toContain('must be 1 to 255 printable ASCII characters')
  })

  it('before the first user gets a request to create that one first', async () => {
    const fresh = await startBoard()
    const own = await startIdentityProvider(`${fresh.url}/api/oidc/callback`)
    try {
      await fresh.client.oidc.set({ issuerUrl: own.issuer, clientId: own.clientId, clientSecret: own.clientSecret })
      own.people.set('first', { email: 'first@example.org', email_verified: true })
      const shown = await new Browser().signIn(`${fresh.url}/api/oidc/login`, 'first')
      expect({ status: shown.status, said: shown.body.includes('no users yet') }).toEqual({ status: 403, said: true })
      expect((await fresh.client.auth.status()).hasUsers).toBe(false)
    } finally {
      await own.close()
      await fresh.close()
    }
  })
})

describe('an account that exists', () => {
  it('is linked by a verified address, and keeps its role and its password', async () => {
    const { user, generatedPassword } = await board.client.users.create({
      email: 'bob@example.org',
      name: 'Bob',
      role: 'admin',
    })
    people.set('bob', { email: 'BOB@example.org', email_verified: true, name: 'Robert' })
    expect((await sso.tokenOf('bob')).user).toEqual({
      id: user.id,
      email: 'bob@example.org',
      displayName: 'Bob',
      role: 'admin',
    })
    expect((await logIn('bob@example.org', generatedPassword)).status).toBe(200)
  })

  it('is not linked by an address that the provider has not verified', async () => {
    for (const email_verified of [false, 'false', 'TRUE']) {
      people.set('mallory', { email: 'root@example.org', email_verified })
      expect(await sso.refusalOf('mallory')).toEqual(unverified)
    }
    people.set('mallory', {})
    expect(await sso.refusalOf('mallory')).toEqual([
      'OIDC_REFUSED',
      'The identity provider does not provide your email address.',
    ])
  })

  it('is not linked to a second subject', async () => {
    people.set('carol', { email: 'carol@example.org', email_verified: true })
    const { user } = await sso.tokenOf('carol')
    people.set('carol-too', { email: 'carol@example.org', email_verified: true })
    expect((await sso.refusalOf('carol-too'))[1]).toContain('belongs to another user of the identity provider')
    expect((await sso.tokenOf('carol')).user.id).toBe(user.id)
  })

  it('is linked again when the server switches to another provider', async () => {
    people.set('fred', { email: 'fred@example.org', email_verified: true })
    const { user } = await sso.tokenOf('fred')
    const next = await startIdentityProvider(`${board.url}/api/oidc/callback`)
    try {
      await sso.configure({ issuerUrl: next.issuer, clientId: next.clientId, clientSecret: next.clientSecret })
      next.people.set('fred', { email: 'nobody@example.org', email_verified: true })
      expect((await sso.tokenOf('fred')).user.id).not.toBe(user.id)
      next.people.set('frederick', { email: 'fred@example.org', email_verified: true })
      expect((await sso.tokenOf('frederick')).user.id).toBe(user.id)
    } finally {
      await next.close()
      await sso.configure()
    }
    expect((await sso.tokenOf('fred')).user.id).toBe(user.id)
  })

  it('that another user registered with the address is deleted with its sessions when the owner of the address signs in', async () => {
    const { token: squatter, user } = await board.client.auth.register({
      email: 'dora@example.org',
      password: 'battery staple 2',
    })
    const theirs = board.as(squatter)
    const { key } = await theirs.keys.create({ name: 'kept', scope: 'server', permissions: ['cards.read'] })
    const { id } = await theirs.projects.create({ name: 'Squatted', path: board.folder('squatted') })
    const { id: cardId } = await theirs.cards.create({ projectId: id, title: 'Theirs', deferred: true })
    const { token: agentToken } = await theirs.agents.token({ projectId: id, cardId: await active(theirs, id) })
    const credential = await theirs.credentials.create({
      name: 'c',
      provider: 'openai',
      apiKey: 'sk-squatted-0123456789',
    })
    await theirs.credentials.choose({ projectId: id, credentialId: credential.id })
    await theirs.notifications.set({ webhookUrl: 'http://127.0.0.1:9/squatter' })
    await theirs.templates.create({ name: 'Squatted', columns: [] })
    await theirs.webhooks.create({ projectId: id, url: 'http://127.0.0.1:9/hook', events: ['card.moved'] })
    const { id: organizationId } = await theirs.organizations.create({ name: 'Squatters' })
    const invited = await theirs.members.add({ id, email: 'accomplice@example.org' })
    const given = await board.client.projects.create({ name: 'Given', path: board.folder('given') })
    const link = await board.client.members.add({ id: given.id, email: 'else@example.org' })
    await theirs.invitations.accept({ token: link.pending ? link.token : '' })
    const { id: scriptId } = await theirs.scripts.create({ projectId: id, name: 's', command: 'sleep 600' })
    await theirs.scripts.run({ projectId: id, scriptId })

    people.set('dora', { email: 'dora@example.org', email_verified: true, name: 'Dora' })
    const dora = await sso.tokenOf('dora')
    const hers = board.as(dora.token)
    expect(dora.user).toMatchObject({ email: 'dora@example.org', displayName: 'Dora', role: 'user' })
    expect(dora.user.id).not.toBe(user.id)
    for (const [path, old] of [
      ['/api/auth/me', squatter],
      ['/api/external/projects/1/boards', key],
      [`/api/projects/${id}/cards/${cardId}/monitors`, agentToken],
    ] as const)
      expect(codeOf(await board.request('GET', path, { token: old }))).toEqual([401, 'UNAUTHENTICATED'])
    expect(codeOf(await logIn('dora@example.org', 'battery staple 2'))).toEqual([401, 'INVALID_CREDENTIALS'])
    expect([await hers.projects.list(), await hers.organizations.list(), await hers.credentials.list()]).toEqual([
      [],
      [],
      [],
    ])
    expect((await hers.notifications.get()).webhookUrl).toBeNull()
    expect((await hers.templates.list()).filter(({ builtin }) => !builtin)).toEqual([])
    const { db } = board.server.app
    for (const table of ['api_keys', 'credentials', 'user_settings', 'webhooks', 'project_members', 'agent_tokens'])
      expect(await db.all(`SELECT 1 FROM ${table} WHERE user_id = ?`, [Number(user.id)]), table).toEqual([])

    const root = (await board.client.auth.me()).id!
    expect(await board.client.projects.get({ id })).toMatchObject({
      ownerId: root,
      credentialId: null,
      accepted: false,
    })
    expect((await board.client.organizations.list()).map(each => each.id)).toContain(organizationId)
    expect((await board.client.cards.get({ projectId: id, cardId })).title).toBe('Theirs')
    expect((await board.client.webhooks.list({ projectId: id })).map(({ enabled }) => enabled)).toEqual([false])
    expect(await board.client.members.list({ id })).toEqual([])
    const { token } = invited as { token: string }
    expect(
      codeOf(await board.request('POST', '/api/invitations/accept', { token: dora.token, body: { token } })),
    ).toEqual([404, 'INVITATION_NOT_FOUND'])
    await eventually('the end of the script', async () => {
      const [run] = await board.client.scripts.status({ projectId: id })
      return run?.status === 'cancelled'
    })
    expect(logged.join('')).toContain('An account with the unverified address of another user was deleted')
    const { items: entries } = await board.client.audit.list({ action: 'users.delete' })
    expect(entries.map(({ target, via }) => [target, via])).toEqual([
      [
        { kind: 'user', id: user.id },
        { kind: 'system', id: 'single sign-on' },
      ],
    ])
    expect(entries[0]!.detail).toMatchObject({ email: 'dora@example.org', newOwnerId: Number(root) })
    expect((await sso.tokenOf('dora')).user.id).toBe(dora.user.id)
  })

  it('that was registered is linked like any other once an administrator has confirmed its address', async () => {
    const { user } = await board.client.auth.register({ email: 'known@example.org', password: 'battery staple 4' })
    expect(await board.client.users.update({ id: user.id, name: 'Known' })).toMatchObject({ addressVerified: false })
    expect(await board.client.users.update({ id: user.id, addressVerified: true })).toMatchObject({
      addressVerified: true,
    })
    const { items: entries } = await board.client.audit.list({ action: 'users.update' })
    expect(entries[0]).toMatchObject({ target: { kind: 'user', id: user.id }, detail: { addressVerified: true } })
    people.set('known', { email: 'known@example.org', email_verified: true })
    expect((await sso.tokenOf('known')).user.id).toBe(user.id)
  })

  it('that was registered and is the only super_admin is not deleted by a sign-in', async () => {
    const { user } = await board.client.auth.register({ email: 'only@example.org', password: 'battery staple 3' })
    const root = (await board.client.auth.me()).id!
    await board.client.users.update({ id: user.id, role: 'super_admin' })
    const only = board.as((await logIn('only@example.org', 'battery staple 3')).body.data.token)
    await only.users.update({ id: root, role: 'user' })
    people.set('only', { email: 'only@example.org', email_verified: true })
    expect((await sso.refusalOf('only'))[1]).toContain('is the only super_admin')
    await only.users.update({ id: root, role: 'super_admin' })
    expect((await sso.tokenOf('only')).user.role).toBe('user')
  })
})

/** Returns an active card of a project, which has an agent token. */
async function active(client: Client, projectId: string): Promise<string> {
  const column = (await client.columns.list({ projectId })).find(({ columnType }) => columnType === 'active')!
  return (await client.cards.create({ projectId, columnId: column.id, title: 'Active', deferred: true })).id
}

describe('a restricted single sign-on', () => {
  const outside = 'Addresses in your domain cannot sign in to this server. Ask an administrator of the server.'
  const noGroup = 'None of your groups can sign in to this server. Ask an administrator of the server.'
  afterEach(() => sso.configure({ allowedDomains: [], allowedGroups: [], groupsClaim: 'groups' }))

  it('to domains accepts their verified addresses only, also of accounts that were linked before', async () => {
    people.set('early', { email: 'early@other.example', email_verified: true })
    await sso.tokenOf('early')
    await sso.configure({ allowedDomains: ['Example.org'] })
    expect(await board.client.oidc.get()).toMatchObject({ allowedDomains: ['example.org'], allowedGroups: [] })
    people.set('in', { email: 'in@EXAMPLE.org', email_verified: true })
    expect((await sso.tokenOf('in')).user.email).toBe('in@EXAMPLE.org')
    for (const email of [
      'x@other.example',
      'x@sub.example.org',
      'x@example.org.evil.example',
      'example.org@evil.example',
    ]) {
      people.set('out', { email, email_verified: true })
      expect(await sso.refusalOf('out')).toEqual(['OIDC_REFUSED', outside])
    }
    expect(await sso.refusalOf('early')).toEqual(['OIDC_REFUSED', outside])
    people.set('loose', { email: 'loose@example.org', email_verified: false })
    expect(await sso.refusalOf('loose')).toEqual(unverified)
    expect((await board.client.users.list({ search: 'evil.example' })).total).toBe(0)
  })

  it('to groups accepts members of one of them, by the configured claim', async () => {
    await sso.configure({ allowedGroups: ['engineers', 'ops'], groupsClaim: 'groups' })
    people.set('eng', { email: 'eng@example.org', email_verified: true, groups: ['staff', 'engineers'] })
    expect((await sso.tokenOf('eng')).user.email).toBe('eng@example.org')
    people.set('one', { email: 'one@example.org', email_verified: true, groups: 'ops' })
    expect((await sso.tokenOf('one')).user.email).toBe('one@example.org')
    for (const groups of [undefined, [], ['Engineers'], ['engineers,ops'], { engineers: true }, [['engineers']]]) {
      people.set('not', { email: 'not@example.org', email_verified: true, groups })
      expect(await sso.refusalOf('not')).toEqual(['OIDC_REFUSED', noGroup])
    }
    people.set('eng', { email: 'eng@example.org', email_verified: true, groups: ['staff'] })
    expect(await sso.refusalOf('eng')).toEqual(['OIDC_REFUSED', noGroup])
    await sso.configure({ allowedDomains: ['elsewhere.example'] })
    expect(await board.client.oidc.get()).toMatchObject({ allowedGroups: ['engineers', 'ops'] })
    expect(await sso.refusalOf('one')).toEqual(['OIDC_REFUSED', outside])
  })

  it('shows a page to a user in a browser, and rejects invalid domains', async () => {
    await sso.configure({ allowedDomains: ['example.com'] })
    people.set('page-out', { email: 'x@example.org', email_verified: true })
    const shown = await new Browser().signIn(`${board.url}/api/oidc/login`, 'page-out')
    expect({ status: shown.status, said: shown.body.includes(outside) }).toEqual({ status: 403, said: true })
    for (const domain of ['*', 'example', '@example.com', 'exa mple.com', ''])
      await expect(sso.configure({ allowedDomains: [domain] })).rejects.toMatchObject({ code: 'VALIDATION_FAILED' })
  })
})

it('accepts a provider that puts the address into the ID token, signs with ECDSA and reads the secret in the body', async () => {
  const key = {
    ...generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' }),
    use: 'sig',
    alg: 'ES256',
    kid: 'ec',
  }
  const other = await startSingleSignOn(
    {},
    {
      conformIdTokenClaims: false,
      clientAuthMethods: ['client_secret_post'],
      clientDefaults: { token_endpoint_auth_method: 'client_secret_post', id_token_signed_response_alg: 'ES256' },
      jwks: { keys: [key] },
    },
  )
  try {
    other.provider.people.set('ada', { email: 'ada@example.org', email_verified: true })
    expect((await other.tokenOf('ada')).user.email).toBe('ada@example.org')
    expect(other.provider.asked).not.toContain('/me')
  } finally {
    await other.close()
  }
})

it('neither secrets nor codes are in the data folder or in the log', async () => {
  people.set('canary', { email: 'canary@example.org', email_verified: true })
  const { shown } = await sso.signInFor('canary', { stopAt: isCallback })
  const { goTo, verifier } = await sso.signInFor('canary')
  const code = goTo.searchParams.get('code')!
  const { token } = await board.client.oidc.exchange({ code, verifier })
  await sso.provider.down()
  expect((await board.request('POST', '/api/oidc/test')).text).not.toContain(sso.provider.clientSecret)
  await board.request('GET', new URL(shown.url).pathname + new URL(shown.url).search)
  await sso.provider.up()
  const secrets = [
    sso.provider.clientSecret,
    token,
    code,
    verifier,
    ...new URL(shown.url).searchParams.getAll('code'),
    ...new URL(shown.url).searchParams.getAll('state'),
  ]
  const files = readdirSync(board.dataDir, { recursive: true, encoding: 'utf8' }).filter(file =>
    statSync(join(board.dataDir, file)).isFile(),
  )
  expect(files).toEqual(expect.arrayContaining(['config.json', 'secret.key']))
  const stored = board.stored()
  for (const secret of secrets) {
    expect(secret.length).toBeGreaterThan(20)
    expect(stored.includes(secret)).toBe(false)
    for (const file of files) expect(readFileSync(join(board.dataDir, file)).includes(secret), file).toBe(false)
    expect(logged.join('')).not.toContain(secret)
  }
})
