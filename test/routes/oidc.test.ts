import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Browser } from '../support/identity/browser.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import type { IdentityProvider } from '../support/identity/identityProvider.ts'
import {
  codeOf,
  isCallback,
  isLoopback,
  loopback,
  startSingleSignOn,
  type SingleSignOn,
} from '../support/identity/singleSignOn.ts'

let sso: SingleSignOn
let board: TestBoard
let provider: IdentityProvider

beforeAll(async () => {
  sso = await startSingleSignOn()
  board = sso.board
  provider = sso.provider
  provider.people.set('ada', { email: 'ada@example.org', email_verified: true })
})
afterAll(() => sso.close())

const login = () => `${board.url}/api/oidc/login`
const begin = (query: Record<string, string> = {}, headers: Record<string, string> = {}) =>
  board.request('GET', `/api/oidc/login?${new URLSearchParams(query)}`, { token: null, headers })
const challenge = 'c'.repeat(43)

describe('the settings', () => {
  it('return the redirect URI and never the secret', async () => {
    const read = await board.request('GET', '/api/settings/oidc')
    expect(read.body.data).toEqual({
      configured: true,
      issuerUrl: provider.issuer,
      clientId: 'board',
      redirectUri: `${board.url}/api/oidc/callback`,
      allowedDomains: [],
      allowedGroups: [],
      groupsClaim: 'groups',
      emailVerification: 'required',
    })
    expect(await sso.configure()).toEqual(read.body.data)
    expect((await board.client.auth.status()).oidcEnabled).toBe(true)
  })

  it('require a super_admin', async () => {
    const user = await board.client.auth.register({ email: 'plain@example.org', password: 'battery staple 2' })
    for (const [method, path] of [
      ['GET', '/api/settings/oidc'],
      ['POST', '/api/settings/oidc'],
      ['DELETE', '/api/settings/oidc'],
      ['POST', '/api/oidc/test'],
    ] as const) {
      expect(codeOf(await board.request(method, path, { token: user.token }))).toEqual([403, 'FORBIDDEN'])
      expect(codeOf(await board.request(method, path, { token: null }))).toEqual([401, 'UNAUTHENTICATED'])
    }
  })

  it('accept an issuer without TLS on this machine only', async () => {
    for (const issuerUrl of [
      'http://example.org',
      'http://127.0.0.1.example.org',
      'ftp://example.org',
      'https://user:pass@example.org',
      'https://example.org/?a=b',
      'https://example.org/#',
      'example.org',
    ]) {
      const refused = await board.request('POST', '/api/settings/oidc', {
        body: { issuerUrl, clientId: 'x', clientSecret: 'y' },
      })
      expect([codeOf(refused), refused.body.error.details], issuerUrl).toEqual([
        [400, 'VALIDATION_FAILED'],
        [expect.objectContaining({ path: 'issuerUrl' })],
      ])
    }
    expect((await board.client.oidc.get()).issuerUrl).toBe(provider.issuer)
  })

  it('can be tested, and removed', async () => {
    expect(await board.client.oidc.test()).toEqual({ ok: true, issuer: provider.issuer, error: null })
    await board.client.oidc.delete()
    expect(await board.client.oidc.get()).toMatchObject({ configured: false, issuerUrl: null, clientId: null })
    expect((await board.client.auth.status()).oidcEnabled).toBe(false)
    expect((await board.request('DELETE', '/api/settings/oidc')).status).toBe(204)
    for (const [method, path] of [
      ['POST', '/api/oidc/test'],
      ['GET', '/api/oidc/login'],
    ] as const)
      expect(codeOf(await board.request(method, path))).toEqual([409, 'OIDC_NOT_CONFIGURED'])
    await sso.configure()
  })
})

describe('a sign-in starts only', () => {
  it('for a listener on this machine', async () => {
    const elsewhere = [
      '//evil.example',
      'https://evil.example',
      'http://evil.example:80/',
      'http://127.0.0.1',
      'http://127.0.0.1/',
      'https://127.0.0.1:1/',
      'http://127.0.0.1:1@evil.example/',
      'http://user@127.0.0.1:1/',
      'http://127.0.0.1.evil.example:1/',
      'http://127.0.0.1:1\\@evil.example/',
      'http://127.0.0.1:1/..//evil.example',
      'http://127.0.0.1:1/a?b=c',
      'http://127.0.0.1:1/#a',
      'http://localhost:1/',
      'http://127.1:1/',
      'http://0.0.0.0:1/',
      'http://[::2]:1/',
      'http://127.0.0.1:99999/',
      'http://127.0.0.1:1/\r\nset-cookie: a=b',
      'http://127.0.0.1:1/\n',
      ' http://127.0.0.1:1/',
      'javascript:alert(1)',
      '/api/docs',
      '',
    ]
    for (const target of elsewhere)
      expect(codeOf(await begin({ loopback: target, challenge })), target).toEqual([400, 'VALIDATION_FAILED'])
    for (const target of ['http://127.0.0.1:1', 'http://127.0.0.1:65535/', 'http://[::1]:1/a-B_9'])
      expect((await begin({ loopback: target, challenge })).status, target).toBe(302)
  })

  it('with a challenge for a listener, and with nothing else', async () => {
    for (const query of [
      { loopback },
      { challenge },
      { loopback, challenge: 'short' },
      { next: '//evil.example' },
      { redirect_uri: 'https://evil.example' },
    ] as Array<Record<string, string>>) {
      expect(codeOf(await begin(query)), JSON.stringify(query)).toEqual([400, 'VALIDATION_FAILED'])
    }
  })

  it('if no foreign page led the browser to it', async () => {
    for (const site of ['cross-site', 'same-site'])
      expect(codeOf(await begin({ loopback, challenge }, { 'sec-fetch-site': site }))).toEqual([403, 'FORBIDDEN'])
    expect((await begin({ loopback, challenge }, { 'sec-fetch-site': 'none' })).status).toBe(302)
  })

  it('at the address to which the provider redirects the browser', async () => {
    const byName = board.url.replace('127.0.0.1', 'localhost')
    const reply = await fetch(`${byName}/api/oidc/login?${new URLSearchParams({ loopback, challenge })}`, {
      redirect: 'manual',
    })
    expect(reply.headers.get('location')).toBe(`${login()}?${new URLSearchParams({ loopback, challenge, moved: '1' })}`)
    expect((await new Browser().signIn(`${byName}/api/oidc/login`, 'ada')).status).toBe(200)
  })

  it('with PKCE, a state and a nonce, and a cookie for the callback only', async () => {
    const { headers } = await begin()
    expect(headers.getSetCookie()).toEqual([
      expect.stringMatching(
        /^board_oidc=1(\.[\w-]+){4}; Path=\/api\/oidc\/callback; Max-Age=600; HttpOnly; SameSite=Lax$/,
      ),
    ])
    const url = new URL(headers.get('location')!)
    expect(url.origin).toBe(provider.issuer)
    expect(Object.fromEntries(url.searchParams)).toEqual({
      client_id: 'board',
      redirect_uri: `${board.url}/api/oidc/callback`,
      response_type: 'code',
      scope: 'openid email profile',
      code_challenge_method: 'S256',
      state: expect.stringMatching(/^[\w-]{43}$/),
      nonce: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
    })
  })
})

describe('a server behind a proxy', () => {
  it('signs in under its public address, with a cookie that needs TLS, regardless of the Host that the proxy sends', async () => {
    const behind = await startBoard({ publicUrl: 'https://board.example.org/team/' })
    try {
      expect((await behind.client.oidc.get()).redirectUri).toBe('https://board.example.org/team/api/oidc/callback')
      await behind.client.oidc.set({
        issuerUrl: provider.issuer,
        clientId: 'board',
        clientSecret: provider.clientSecret,
      })
      const moved = await behind.request('GET', '/api/oidc/login', { token: null })
      expect(moved.headers.get('location')).toBe('https://board.example.org/team/api/oidc/login?moved=1')
      const begun = await behind.request('GET', '/api/oidc/login?moved=1', { token: null })
      expect(new URL(begun.headers.get('location')!).searchParams.get('redirect_uri')).toBe(
        'https://board.example.org/team/api/oidc/callback',
      )
      expect(begun.headers.getSetCookie()).toEqual([
        expect.stringMatching(/; Path=\/team\/api\/oidc\/callback; Max-Age=600; HttpOnly; SameSite=Lax; Secure$/),
      ])
    } finally {
      await behind.close()
    }
  })
})

describe('a provider', () => {
  it('with another issuer in its metadata is rejected', async () => {
    await sso.configure({ issuerUrl: provider.issuer.replace('127.0.0.1', 'localhost') })
    expect(await board.client.oidc.test()).toEqual({
      ok: false,
      issuer: null,
      error: expect.stringContaining(`reports the issuer "${provider.issuer}"`),
    })
    expect(codeOf(await begin())).toEqual([403, 'OIDC_REFUSED'])
    await sso.configure({ issuerUrl: `${provider.issuer}/` })
    expect((await board.client.oidc.test()).error).toContain('must be equal to it')
    await sso.configure()
  })

  it('that is down is reported on a page, and is found again when it is up', async () => {
    await provider.down()
    await sso.configure()
    expect(await board.client.oidc.test()).toEqual({
      ok: false,
      issuer: null,
      error: 'The identity provider cannot be reached: ECONNREFUSED.',
    })
    const page = await new Browser().open(login())
    expect({ status: page.status, said: page.body.includes('cannot be reached') }).toEqual({
      status: 503,
      said: true,
    })
    expect(codeOf(await begin())).toEqual([503, 'PROVIDER_UNAVAILABLE'])
    await provider.up()
    expect((await begin()).status).toBe(302)
  })

  it('that uses TLS can be at any address', async () => {
    await sso.configure({ issuerUrl: 'https://127.0.0.1:1' })
    expect(await board.client.oidc.test()).toEqual({
      ok: false,
      issuer: null,
      error: 'The identity provider cannot be reached: ECONNREFUSED.',
    })
    await sso.configure()
  })

  it('that goes down during a sign-in ends it, and its metadata is fetched again', async () => {
    const browser = new Browser()
    const { shown } = await sso.signInFor('ada', { stopAt: isCallback }, browser)
    await provider.down()
    const ended = await browser.open(shown.url, { stopAt: isLoopback })
    expect(new URL(ended.url).searchParams.get('error')).toBe('PROVIDER_UNAVAILABLE')
    await provider.up()
    provider.asked.length = 0
    for (const _ of [1, 2]) await sso.tokenOf('ada')
    expect(provider.asked.filter(path => path === '/.well-known/openid-configuration')).toHaveLength(1)
  })

  it('that rejects the secret is reported with a way to fix it', async () => {
    await sso.configure({ clientSecret: 'not-the-secret' })
    expect(await sso.refusalOf('ada')).toEqual([
      'OIDC_REFUSED',
      expect.stringContaining('rejects the client ID and secret of this server'),
    ])
    await sso.configure()
  })

  it('that is not an identity provider is reported as such', async () => {
    await sso.configure({ issuerUrl: board.url })
    expect((await board.client.oidc.test()).error).toContain('not from an identity provider')
    await sso.configure()
  })

  it('is asked for its metadata once for concurrent requests', async () => {
    await sso.configure()
    provider.asked.length = 0
    const replies = await Promise.all(Array.from({ length: 20 }, () => begin()))
    expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 302))
    expect(provider.asked).toEqual(['/.well-known/openid-configuration'])
  })
})
