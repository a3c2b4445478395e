import { client, type Arrival } from './session.ts'

const verifierKey = 'board verifier'
/** The storage key of the page that the person left for the identity provider. */
const placeKey = 'board place'

/**
 * The addresses that return a person to the page: a ticket of the command line, or the outcome of single sign-on, and then the
 * target page.
 */
const arriving = /^#\/(ticket|code|refused)\/([^/]+)(\/.*)?$/
/** The server's own address, to which single sign-on has moved the browser. */
const beginning = '#/sign-on'

/**
 * Trades what the address brings for a token, once, and takes it out of the address and of the history.
 * @throws ApiFailure where it is not valid any more, Error where the identity provider refused
 */
export async function takeArrival(): Promise<Arrival | undefined> {
  if (location.hash === beginning) {
    history.replaceState(null, '', '#/')
    await goToProvider()
  }
  const [, kind, text, rest = sessionStorage.getItem(placeKey) ?? '/'] = arriving.exec(location.hash) ?? []
  if (kind === undefined) return undefined
  const verifier = sessionStorage.getItem(verifierKey) ?? ''
  sessionStorage.removeItem(verifierKey)
  sessionStorage.removeItem(placeKey)
  history.replaceState(null, '', `#${rest}`)
  dispatchEvent(new HashChangeEvent('hashchange'))
  if (kind === 'ticket') return client.auth.redeemTicket({ ticket: text! })
  // Any website can link here with a code or a text.
  if (verifier === '') throw new Error('The sign-in was not started in this tab. Sign in here.')
  if (kind === 'refused') throw new Error(decodeURIComponent(text!))
  return (await client.oidc.exchange({ code: text!, verifier })) as Arrival
}

/** Reloads when such an address is entered in an open tab, because the browser then loads no page. */
export const startOverOnArrival = (): void =>
  addEventListener('hashchange', () => {
    if (arriving.test(location.hash)) location.reload()
  })

/** Goes to the identity provider, which sends the browser back here. */
export async function goToProvider(): Promise<void> {
  const verifier = base64url(crypto.getRandomValues(new Uint8Array(32)))
  sessionStorage.setItem(verifierKey, verifier)
  sessionStorage.setItem(placeKey, location.hash.replace(/^#/, '') || '/')
  const challenge = base64url(new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier))))
  location.assign(`api/oidc/login?${new URLSearchParams({ page: '1', challenge })}`)
}

const base64url = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace(/=+$/, '')
