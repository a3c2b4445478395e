import { ApiFailure, Unreachable } from '../../../src/client/failures.ts'
import { createClient } from '../../../src/client/index.ts'
import type { Connection } from '../../../src/client/http.ts'
import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { reasonOf } from './reasons.ts'
import { Store } from './store.ts'

export type Me = Output<Contract['auth']['me']>
/** A sign-in that the address brought. */
export type Arrival = Output<Contract['auth']['redeemTicket']>
export type AuthStatus = Output<Contract['auth']['status']>

/**
 * The sign-in state. After the sign-in has expired, the page stays behind the sign-in dialog, so that no typed text is lost.
 */
export type Session =
  | { name: 'starting' }
  | { name: 'unreachable'; reason: string }
  | { name: 'out'; status: AuthStatus; reason?: string }
  | { name: 'choosing'; me: Me; other: Arrival }
  | { name: 'in'; me: Me; hasEnded: boolean }

export const session = new Store<Session>({ name: 'starting' })

/** Increases when loaded data can be outdated: after a new sign-in, and after a restore. */
export const reloadCount = new Store(0)
/** Reloads all displayed data. */
export const reloadAll = (): void => reloadCount.update(before => before + 1)

/** The base URL of the page without a trailing slash, because a proxy might serve it below a path. */
const baseUrl = new URL('.', location.href).href.replace(/\/$/, '')
const tokenKey = `board token ${new URL(baseUrl).pathname}`

let signedInAgain: ((place: { url: string; token: string }) => void)[] = []

/** A request whose token has expired waits until the user signs in again, and is then repeated. */
const connection: Connection = {
  url: baseUrl,
  token: sessionStorage.getItem(tokenKey) ?? localStorage.getItem(tokenKey) ?? undefined,
  renew: async ({ wasRefused }) => {
    const now = session.get()
    if (!wasRefused || now.name !== 'in') return undefined
    session.set({ ...now, hasEnded: true })
    return new Promise(resolve => signedInAgain.push(resolve))
  },
}

/** The client of the signed-in person. */
export const client = createClient(connection)
/** The connection for live events. */
export const liveConnection: Connection = connection

/**
 * Determines the signed-in person: by the address, by the stored token, or without a token if authentication is off. @param
 * arrive exchanges the code in the address for a token
 */
export async function beginSession(arrive: () => Promise<Arrival | undefined>): Promise<void> {
  let reason: string | undefined
  try {
    const other = await arrive().catch((error: unknown) => {
      if (error instanceof Unreachable) throw error
      reason = reasonOf(error)
      return undefined
    })
    const me = await readMe()
    if (other && !me) return await signInWith(other.token, false)
    // Another person's link must not silently switch the account.
    if (other && me && other.user.id !== me.id) return session.set({ name: 'choosing', me, other })
    if (other) void revokeArrival(other)
    if (me) session.set({ name: 'in', me, hasEnded: false })
    else session.set({ name: 'out', status: await client.auth.status(), reason })
  } catch (error) {
    session.set({ name: 'unreachable', reason: reasonOf(error) })
  }
}

/**
 * Without a token, first asks the server whether it requires one, because browsers print each rejected request to the
 * console.
 */
async function readMe(): Promise<Me | undefined> {
  if (connection.token === undefined && (await client.auth.status()).authEnabled) return undefined
  return client.auth.me().catch(signedOut)
}

function signedOut(error: unknown): undefined {
  if (error instanceof ApiFailure && error.status === 401) return undefined
  throw error
}

/**
 * Continues with a new token.
 * @param isKept whether the token is kept after the tab is closed
 */
export async function signInWith(token: string, isKept: boolean): Promise<void> {
  for (const storage of [sessionStorage, localStorage]) storage.removeItem(tokenKey)
  ;(isKept ? localStorage : sessionStorage).setItem(tokenKey, token)
  connection.token = token
  const before = session.get()
  const me = await client.auth.me()
  // The page shows another person's data.
  if (before.name === 'in' && before.me.id !== me.id) return location.reload()
  session.set({ name: 'in', me, hasEnded: false })
  if (before.name === 'in') reloadAll()
  const waiting = signedInAgain
  signedInAgain = []
  for (const resolve of waiting) resolve({ url: baseUrl, token })
}

/** Continues with the previous account, and ends the sign-in from the address. */
export function keepAccount(me: Me, other: Arrival): void {
  void revokeArrival(other)
  session.set({ name: 'in', me, hasEnded: false })
}

const revokeArrival = ({ token }: Arrival): Promise<void> =>
  createClient({ url: baseUrl, token })
    .auth.logout()
    .catch(() => undefined)

/** Ends the sign-in, here and on the server. */
export async function signOut(): Promise<void> {
  await client.auth.logout().catch(() => undefined)
  for (const storage of [sessionStorage, localStorage]) storage.removeItem(tokenKey)
  connection.token = undefined
  history.replaceState(null, '', '#/')
  location.reload()
}
