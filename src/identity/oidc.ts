import { hash, randomBytes } from 'node:crypto'
import { Problem } from '../contract/errors.ts'
import { hashToken, mint } from '../ids/token.ts'
import { findUserByOidc, insertOidcSignInToken, type OidcIdentity } from '../store/oidc.ts'
import type { UserRow } from '../store/users.ts'
import type { SignedInUser } from './accounts.ts'
import { signInMs } from './authenticate.ts'
import type { Realm } from './identity.ts'
import { accountOf } from './oidcAccounts.ts'
import type { Binding, Claims } from './oidcProvider.ts'
import { isSameSettings, requireOidcSettings, type OidcSettings } from './oidcSettings.ts'
import { createProviderCache, type ProviderCache } from './providerCache.ts'
import type { Seal } from './seal.ts'
import { createTickets, type Tickets } from './tickets.ts'

/** How long somebody may take at the identity provider. */
export const pendingMs = 600_000
const codeMs = 60_000
const mostKept = 10_000

/** Where a program on the browser's machine waits for a one-time code, and the SHA-256 of the code's verifier in base64url. */
export interface Listener {
  loopback: string
  challenge: string
}
/** Whose sign-in it was, or why it was refused; where a program waits for the outcome, the URL by which the browser tells it. */
export type Outcome = { user: UserRow } | { goTo: string; user: UserRow } | { goTo: string; problem: Problem }

/** Single sign-on with OpenID Connect: the authorization code flow with PKCE, state and nonce. What is pending is kept for minutes. */
export interface Oidc extends Realm {
  seal: Seal
  pendings: Tickets<Pending>
  codes: Tickets<Granted>
  providers: ProviderCache
}
interface Pending {
  settings: OidcSettings
  redirectUri: string
  binding: Binding
  browserHash: string
  listener: Listener | undefined
}
type Granted = OidcIdentity & { userId: number; challenge: string }

export const createOidc = ({ config, db, identity, seal }: Realm & { seal: Seal }): Oidc => ({
  config,
  db,
  identity,
  seal,
  providers: createProviderCache(seal, config.clock),
  pendings: createTickets('sign-in', { db, seal }, { most: mostKept, lifeMs: pendingMs }),
  codes: createTickets('code', { db, seal }, { most: mostKept, lifeMs: codeMs }),
})

/**
 * Begins a sign-in: where to send the browser, and the secret that it has to keep until it comes back.
 * @throws Problem OIDC_NOT_CONFIGURED, OIDC_REFUSED, PROVIDER_UNAVAILABLE, SEALED_WITH_OTHER_KEY
 */
export async function begin(
  { db, providers, pendings }: Oidc,
  redirectUri: string,
  listener?: Listener,
): Promise<{ url: string; browserSecret: string }> {
  const settings = await requireOidcSettings(db)
  const provider = await providers.of(settings)
  const { url, binding } = await provider.request(redirectUri)
  const browserSecret = newSecret()
  await pendings.keep(binding.state, {
    settings,
    redirectUri,
    binding,
    browserHash: hashToken(browserSecret),
    listener,
  })
  return { url, browserSecret }
}

/**
 * Completes the sign-in that the answer's state names: once, within 10 minutes, by the browser that began it.
 * @throws Problem OIDC_SIGN_IN_UNKNOWN, and where no program waits for the outcome OIDC_REFUSED, OIDC_NOT_CONFIGURED, PROVIDER_UNAVAILABLE
 */
export async function complete(oidc: Oidc, answer: URLSearchParams, browserSecret = ''): Promise<Outcome> {
  const pending = await oidc.pendings.take(answer.get('state') ?? '')
  if (pending?.browserHash !== hashToken(browserSecret)) throw new Problem('OIDC_SIGN_IN_UNKNOWN')
  const { listener } = pending
  try {
    const claims = await claimsOf(oidc, pending, answer)
    const user = await oidc.db.transaction(tx => accountOf(oidc.identity, tx, claims))
    return listener
      ? { goTo: withQuery(listener, { code: await grant(oidc, listener, claims, user) }), user }
      : { user }
  } catch (problem) {
    if (!(problem instanceof Problem) || !listener) throw problem
    return { goTo: withQuery(listener, { error: problem.code, message: problem.message }), problem }
  }
}

/**
 * Gives the token for a one-time code: once, within a minute, to whoever began the sign-in.
 * @throws Problem INVALID_CREDENTIALS
 */
export async function exchange({ db, codes }: Oidc, code: string, verifier: string): Promise<SignedInUser> {
  const granted = await codes.take(code)
  if (granted?.challenge !== hash('sha256', verifier, 'base64url'))
    throw new Problem('INVALID_CREDENTIALS', 'The code is not valid: it was used already, or is over a minute old.')
  return db.transaction(async tx => {
    const token = mint('svc_st_')
    const user = await findUserByOidc(tx, granted)
    const isStored = await insertOidcSignInToken(tx, {
      ...granted,
      hash: hashToken(token),
      expiresAt: new Date(Date.parse(tx.now) + signInMs).toISOString(),
    })
    if (!user || !isStored) throw new Problem('INVALID_CREDENTIALS', 'The account is no longer there.')
    return { token, user }
  })
}

/**
 * Asks the provider for its metadata now.
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

/** After a failure the metadata are read anew. */
async function claimsOf(
  { db, providers }: Oidc,
  { settings, redirectUri, binding }: Pending,
  answer: URLSearchParams,
): Promise<Claims> {
  if (!isSameSettings(settings, await requireOidcSettings(db)))
    throw new Problem('OIDC_REFUSED', 'The settings of single sign-on have changed meanwhile. Start again.')
  const provider = await providers.of(settings)
  return provider.claims(new URL(`${redirectUri}?${answer}`), binding).catch(error => {
    providers.forget()
    throw error
  })
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

const withQuery = ({ loopback }: Listener, query: Record<string, string>) => `${loopback}?${new URLSearchParams(query)}`

const newSecret = () => randomBytes(32).toString('base64url')
