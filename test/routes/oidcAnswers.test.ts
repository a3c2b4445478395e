import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { Browser, type Shown } from '../support/identity/browser.ts'
import { onLibsqlServer, type TestBoard } from '../support/servers/testBoard.ts'
import {
  codeOf,
  isCallback,
  isLoopback,
  startSingleSignOn,
  type SingleSignOn,
} from '../support/identity/singleSignOn.ts'

let sso: SingleSignOn
let board: TestBoard

beforeAll(async () => {
  sso = await startSingleSignOn()
  board = sso.board
  sso.provider.people.set('ada', { email: 'ada@example.org', email_verified: true })
})
afterAll(() => sso.close())
beforeEach(() => {
  sso.setAhead(0)
})

const minuteMs = 60_000
const atCallback = (change: (query: URLSearchParams) => void) => ({
  change: (url: URL) => {
    if (isCallback(url)) change(url.searchParams)
  },
})
/** The page that reports only an unknown sign-in. */
const expectUnknown = (shown: Shown) =>
  expect({ status: shown.status, said: shown.body.includes('The sign-in was not found') }).toEqual({
    status: 400,
    said: true,
  })

describe('a response of the provider is rejected', () => {
  it('with another state', async () => {
    const { shown } = await sso.signInFor(
      'ada',
      atCallback(query => query.set('state', '<b>state</b>')),
    )
    expectUnknown(shown)
    expect(shown.body).not.toContain('<b>state')
  })

  it('with another nonce', async () => {
    const change = (url: URL) => {
      if (url.searchParams.has('nonce')) url.searchParams.set('nonce', 'another')
    }
    expect(await sso.refusalOf('ada', { change })).toEqual([
      'OIDC_REFUSED',
      expect.stringContaining('does not belong to this sign-in'),
    ])
  })

  it('with a code for another verifier', async () => {
    const change = (url: URL) => {
      if (url.searchParams.has('code_challenge')) url.searchParams.set('code_challenge', 'a'.repeat(43))
    }
    expect(await sso.refusalOf('ada', { change })).toEqual(['OIDC_REFUSED', expect.stringContaining('invalid_grant')])
  })

  it('from another issuer', async () => {
    expect(
      await sso.refusalOf(
        'ada',
        atCallback(query => query.set('iss', 'https://evil.example')),
      ),
    ).toEqual(['OIDC_REFUSED', expect.stringContaining('does not belong to this sign-in')])
  })

  it("the second time, also with the browser's cookie", async () => {
    const browser = new Browser()
    const { shown } = await sso.signInFor('ada', { stopAt: isCallback }, browser)
    const cookie = browser.cookiesFor(new URL(shown.url))
    expect(cookie).toContain('board_oidc=')
    expect((await browser.open(shown.url, { stopAt: isLoopback })).url).toContain('?code=')
    expectUnknown(await browser.open(shown.url, { headers: { cookie } }))
  })

  it('with the code of another sign-in', async () => {
    const { shown } = await sso.signInFor('ada', { stopAt: isCallback })
    const code = new URL(shown.url).searchParams.get('code')!
    expect(
      (
        await sso.refusalOf(
          'ada',
          atCallback(query => query.set('code', code)),
        )
      )[0],
    ).toBe('OIDC_REFUSED')
  })

  it('in a browser that did not start the sign-in', async () => {
    expectUnknown(await new Browser().open((await sso.signInFor('ada', { stopAt: isCallback })).shown.url))
    const other = new Browser()
    await other.open(`${board.url}/api/oidc/login`, { stopAt: () => true })
    expectUnknown(await other.open((await sso.signInFor('ada', { stopAt: isCallback })).shown.url))
  })

  it('after ten minutes', async ({ skip }) => {
    skip(onLibsqlServer, "A libSQL server's own clock decides.")
    const browser = new Browser()
    const { shown } = await sso.signInFor('ada', { stopAt: isCallback }, browser)
    sso.setAhead(10 * minuteMs + 1000)
    expectUnknown(await browser.open(shown.url))
  })

  it('if the settings have changed in between', async () => {
    const browser = new Browser()
    const { shown } = await sso.signInFor('ada', { stopAt: isCallback }, browser)
    await sso.configure()
    const ended = await browser.open(shown.url, { stopAt: isLoopback })
    expect(new URL(ended.url).searchParams.get('message')).toContain('changed during the sign-in')
  })

  it('if the user declines, without text of the response', async () => {
    const decline = (query: URLSearchParams) => {
      query.delete('code')
      query.set('error', 'access_denied')
      query.set('error_description', 'planted')
    }
    expect(await sso.refusalOf('ada', atCallback(decline))).toEqual([
      'OIDC_REFUSED',
      'The sign-in was cancelled, or the identity provider rejected it.',
    ])
    const page = await new Browser().signIn(
      `${board.url}/api/oidc/login`,
      'ada',
      atCallback(query => query.set('error', 'planted')),
    )
    expect({ status: page.status, planted: page.body.includes('planted') }).toEqual({ status: 403, planted: false })
  })

  it('in the usual format for clients without a page', async () => {
    for (const query of ['?code=x&state=y', '', '?error=access_denied'])
      expect(codeOf(await board.request('GET', `/api/oidc/callback${query}`, { token: null }))).toEqual([
        400,
        'OIDC_SIGN_IN_UNKNOWN',
      ])
  })
})

describe('a one-time code', () => {
  const exchange = (code: string | null, verifier: string) =>
    board.request('POST', '/api/oidc/exchange', { token: null, body: { code, verifier } })

  it('is valid once, and only with its verifier', async () => {
    const { goTo, verifier } = await sso.signInFor('ada')
    const code = goTo.searchParams.get('code')
    expect([...goTo.searchParams.keys()]).toEqual(['code'])
    const both = await Promise.all([exchange(code, verifier), exchange(code, verifier)])
    expect(both.map(({ status }) => status).sort()).toEqual([200, 401])
    const other = await sso.signInFor('ada')
    for (const wrongThenRight of [verifier, other.verifier])
      expect(codeOf(await exchange(other.goTo.searchParams.get('code'), wrongThenRight))).toEqual([
        401,
        'INVALID_CREDENTIALS',
      ])
  })

  it('expires after a minute', async ({ skip }) => {
    skip(onLibsqlServer, "A libSQL server's own clock decides.")
    const { goTo, verifier } = await sso.signInFor('ada')
    sso.setAhead(minuteMs + 1000)
    expect(codeOf(await exchange(goTo.searchParams.get('code'), verifier))).toEqual([401, 'INVALID_CREDENTIALS'])
  })

  it('is invalid once the account is deleted', async () => {
    sso.provider.people.set('gone', { email: 'gone@example.org', email_verified: true })
    const { user } = await sso.tokenOf('gone')
    const { goTo, verifier } = await sso.signInFor('gone')
    await board.client.users.delete({ id: user.id })
    expect(codeOf(await exchange(goTo.searchParams.get('code'), verifier))).toEqual([401, 'INVALID_CREDENTIALS'])
  })
})
