import { hash, randomBytes } from 'node:crypto'
import type { Log } from '../config/log.ts'
import { Problem } from '../contract/errors.ts'
import type { Runners } from '../domain/accounts/accountWork.ts'
import { hashToken, createToken } from '../domain/accounts/token.ts'
import { findUserByOidc, insertOidcSignInToken, type OidcIdentity } from '../store/accounts/oidc.ts'
import type { Origin } from '../store/accounts/signInTokens.ts'
import type { UserRow } from '../store/accounts/users.ts'
import type { SignedInUser } from './accounts.ts'
import { signInMs } from './authenticate.ts'
import type { AuthContext } from './identity.ts'
import { findOrCreateAccount } from './oidcAccounts.ts'
import type { Binding, Claims } from './oidcProvider.ts'
import { fingerprintOf, requireOidcSettings, type OidcSettings } from './oidcSettings.ts'
import { createProviderCache, type ProviderCache } from './providerCache.ts'
import type { Seal } from './seal.ts'
import { createMarks, createTickets, type Marks, type Tickets } from './tickets.ts'

/** The time limit for signing in at the identity provider. */
export const pendingMs = 600_000
const codeMs = 60_000
const maxKept = 10_000
/** Each completion sends requests to the provider, which can take seconds. */
const maxCompletions = 20

/**
 * The receiver of the one-time code, and the SHA-256 of its verifier in base64url. The receiver is a program on the browser's machine or,
 * with `isPage`, the board's own page. The page gets the code in the URL fragment, which no log records.
 */
export interface Listener {
  loopback: string
  challenge: string
  isPage?: boolean
}
/** The signed-in account, or why the sign-in was refused. For a waiting program, the URL through which the browser delivers the outcome. */
export type Outcome = { user: UserRow } | { goTo: string; user: UserRow } | { goTo: string; problem: Problem }

/**
 * Single sign-on with OpenID Connect: the authorization code flow with PKCE, state and nonce. The state of a pending sign-in is
 * an encrypted cookie, so that strangers who start many sign-ins fill no memory and evict no other state.
 */
export interface Oidc extends AuthContext, Runners {
  log: Log
  seal: Seal
  used: Marks
  codes: Tickets<Granted>
  providers: ProviderCache
  /** The number of completions in progress. */
  completing: number
}
interface Pending {
  /** The fingerprint of the settings at the start of the sign-in. */
  settings: string
  redirectUri: string
  nonce: string
  verifier: string
  listener?: Listener
  endsAtMs: number
}
type Granted = OidcIdentity & { userId: number; challenge: string }

export const createOidc = (place: AuthContext & Runners & Pick<Oidc, 'seal' | 'log'>): Oidc => ({
  ...place,
  completing: 0,
  providers: createProviderCache(place.seal, place.config.clock),
  used: createMarks('sign-in', place.db, { maxKept, lifeMs: pendingMs }),
  codes: createTickets('code', place, { maxKept, lifeMs: codeMs }),
})

/**
 * Starts a sign-in.
 * @returns the provider's URL, and the encrypted state that the browser keeps until it returns
 * @throws Problem OIDC_NOT_CONFIGURED, OIDC_REFUSED, PROVIDER_UNAVAILABLE, SEALED_WITH_OTHER_KEY
 */
export async function begin(
  { config, db, providers, seal }: Oidc,
  redirectUri: string,
  listener?: Listener,
): Promise<{ url: string; pending: string }> {
  const settings = await requireOidcSettings(db)
  const provider = await providers.of(settings)
  const {
    url,
    binding: { state, nonce, verifier },
  } = await provider.request(redirectUri)
  const endsAtMs = config.clock().getTime() + pendingMs
  const pending: Pending = { settings: fingerprintOf(settings), redirectUri, nonce, verifier, listener, endsAtMs }
  return { url, pending: seal.seal(placeOf(state), JSON.stringify(pending)) }
}

/** Binds the encrypted state to the response that names it. */
const placeOf = (state: string) => `oidc/pending/${state}`

/**
 * Completes the sign-in of the response's state: once, within 10 minutes, by the browser that has `sealed`.
 * @throws Problem OIDC_SIGN_IN_UNKNOWN, RATE_LIMITED, and if no program waits for the outcome, OIDC_REFUSED, OIDC_NOT_CONFIGURED,
 * PROVIDER_UNAVAILABLE
 */
export async function complete(oidc: Oidc, answer: URLSearchParams, sealed = ''): Promise<Outcome> {
  const state = answer.get('state') ?? ''
  const pending = openPending(oidc, state, sealed)
  if (!pending) throw new Problem('OIDC_SIGN_IN_UNKNOWN')
  if (oidc.completing >= maxCompletions)
    throw new Problem('RATE_LIMITED', 'Too many concurrent sign-ins. Try again in a moment.', { retryAfterSecs: 5 })
  oidc.completing++
  try {
    if (!(await oidc.used.set(state))) throw new Problem('OIDC_SIGN_IN_UNKNOWN')
    return await completeOnce(oidc, { ...pending, state }, answer)
  } finally {
    oidc.completing--
  }
}

function openPending({ config, seal }: Oidc, state: string, sealed: string): Pending | undefined {
  try {
    const pending = JSON.parse(seal.open(placeOf(state), sealed)) as Pending
    return pending.endsAtMs > config.clock().getTime() ? pending : undefined
  } catch {
    return undefined
  }
}

async function completeOnce(
  oidc: Oidc,
  pending: Pending & { state: string },
  answer: URLSearchParams,
): Promise<Outcome> {
  const { listener } = pending
  try {
    const { claims, settings } = await claimsOf(oidc, pending, answer)
    const { user, replaced } = await oidc.db.transaction(tx => findOrCreateAccount(oidc, tx, claims, settings))
    if (replaced)
      oidc.log(
        'warn',
        'An account with the unverified address of another user was deleted, and its projects were reassigned',
        { ...replaced, newUserId: user.id },
      )
    return listener ? { goTo: withCode(listener, await grant(oidc, listener, claims, user)), user } : { user }
  } catch (problem) {
    if (!(problem instanceof Problem) || !listener) throw problem
    return { goTo: withProblem(listener, problem), problem }
  }
}

/**
 * Exchanges a one-time code for the token: once, within a minute, by the program that began the sign-in.
 * @throws Problem INVALID_CREDENTIALS
 */
export async function exchange(
  { db, codes }: Oidc,
  code: string,
  verifier: string,
  origin: Origin,
): Promise<SignedInUser> {
  const granted = await codes.take(code)
  if (granted?.challenge !== hash('sha256', verifier, 'base64url'))
    throw new Problem(
      'INVALID_CREDENTIALS',
      'The code is not valid. It was already used, or is more than a minute old.',
    )
  return db.transaction(async tx => {
    const token = createToken('svc_st_')
    const user = await findUserByOidc(tx, granted)
    const isStored = await insertOidcSignInToken(tx, {
      ...granted,
      origin,
      hash: hashToken(token),
      expiresAt: new Date(Date.parse(tx.now) + signInMs).toISOString(),
    })
    if (!user || !isStored) throw new Problem('INVALID_CREDENTIALS', 'The account no longer exists.')
    return { token, user }
  })
}

/**
 * Fetches the provider's metadata, as a test of the settings.
 * @throws Problem OIDC_NOT_CONFIGURED
 */
export async function test({
  db,
  providers,
}: Oidc): Promise<{ ok: boolean; issuer: string | null; error: string | null }> {
  const settings = await requireOidcSettings(db)
  try {
    providers.forget()
    const { issuer } = await providers.of(settings)
    return { ok: true, issuer, error: null }
  } catch (error) {
    if (error instanceof Problem) return { ok: false, issuer: null, error: error.message }
    throw error
  }
}

/** A failure drops the cached metadata. */
async function claimsOf(
  { db, providers }: Oidc,
  { settings: begunWith, redirectUri, ...binding }: Pending & Binding,
  answer: URLSearchParams,
): Promise<{ claims: Claims; settings: OidcSettings }> {
  const settings = await requireOidcSettings(db)
  if (fingerprintOf(settings) !== begunWith)
    throw new Problem('OIDC_REFUSED', 'The single sign-on settings changed during the sign-in. Start again.')
  const provider = await providers.of(settings)
  const claims = await provider.claims(new URL(`${redirectUri}?${answer}`), binding).catch(error => {
    providers.forget()
    throw error
  })
  return { claims, settings }
}

async function grant(
  { codes }: Oidc,
  { challenge }: Listener,
  { issuer, subject }: Claims,
  user: UserRow,
): Promise<string> {
  const code = newSecret()
  await codes.keep(code, { userId: user.id, issuer, subject, challenge })
  return code
}

const withCode = ({ loopback, isPage }: Listener, code: string) =>
  isPage ? `${loopback}#/code/${code}` : `${loopback}?${new URLSearchParams({ code })}`

const withProblem = ({ loopback, isPage }: Listener, { code, message }: Problem) =>
  isPage
    ? `${loopback}#/refused/${encodeURIComponent(message)}`
    : `${loopback}?${new URLSearchParams({ error: code, message })}`

const newSecret = () => randomBytes(32).toString('base64url')
