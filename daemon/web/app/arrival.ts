import { client, type Arrival } from './session.ts'

const verifierKey = 'board verifier'
/** The storage key of the path to return to after single sign-on. */
const returnPathKey = 'board place'

/**
 * Addresses that sign a user in: a ticket of the command line, or the result of single sign-on, optionally followed by the path
 * of the target page.
 */
const arrivalPattern = /^#\/(ticket|code|refused)\/([^/]+)(\/.*)?$/
/** The address that starts single sign-on. The server redirects the browser to it. */
const signOnHash = '#/sign-on'

/**
 * Exchanges the ticket or code in the address for a token, and removes it from the address and the history. Undefined if there
 * is none.
 * @throws ApiFailure if it is no longer valid, Error if the identity provider refused
 */
export async function takeArrival(): Promise<Arrival | undefined> {
  if (location.hash === signOnHash) {
    history.replaceState(null, '', '#/')
    await goToProvider()
  }
  const [, kind, value, target = sessionStorage.getItem(returnPathKey) ?? '/'] =
    arrivalPattern.exec(location.hash) ?? []
  if (kind === undefined) return undefined
  const verifier = sessionStorage.getItem(verifierKey) ?? ''
  sessionStorage.removeItem(verifierKey)
  sessionStorage.removeItem(returnPathKey)
  history.replaceState(null, '', `#${target}`)
  dispatchEvent(new HashChangeEvent('hashchange'))
  if (kind === 'ticket') return client.auth.redeemTicket({ ticket: value! })
  // Without this check, any website could link here with its own code or message.
  if (verifier === '') throw new Error('The sign-in was not started in this tab. Sign in here.')
  if (kind === 'refused') throw new Error(decodeURIComponent(value!))
  return (await client.oidc.exchange({ code: value!, verifier })) as Arrival
}

/** Reloads if a sign-in address is entered in an open tab, because the browser does not load a page for a new hash. */
export const startOverOnArrival = (): void =>
  addEventListener('hashchange', () => {
    if (arrivalPattern.test(location.hash)) location.reload()
  })

/** Opens the identity provider, which redirects the browser back to this page. */
export async function goToProvider(): Promise<void> {
  const verifier = base64url(crypto.getRandomValues(new Uint8Array(32)))
  sessionStorage.setItem(verifierKey, verifier)
  sessionStorage.setItem(returnPathKey, location.hash.replace(/^#/, '') || '/')
  const challenge = base64url(new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier))))
  location.assign(`api/oidc/login?${new URLSearchParams({ page: '1', challenge })}`)
}

const base64url = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace(/=+$/, '')
