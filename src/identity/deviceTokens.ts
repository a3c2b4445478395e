import { setTimeout as delay } from 'node:timers/promises'
import { Problem } from '../contract/errors.ts'
import { readCredential, setAuthorization, type CredentialRow } from '../store/accounts/credentials.ts'
import { secretPlace } from './credentials.ts'
import {
  authorizationOf,
  clientSecretFor,
  exchangeLease,
  leaseMs,
  type DeviceGrantDependencies,
} from './deviceAuthorization.ts'
import { acquireLease } from './lease.ts'
import { exchangeRefreshToken, type Tokens } from './oauth.ts'
import type { Seal } from './seal.ts'

const refreshBeforeMs = 60_000
const [maxWaitMs, pollMs] = [20_000, 200]

export const tokensOf = (seal: Seal, credential: CredentialRow) =>
  JSON.parse(seal.open(secretPlace(credential), credential.sealed!)) as Tokens
export const isOld = ({ expiresAt, refreshToken }: Tokens, now: Date) =>
  refreshToken !== undefined && expiresAt !== undefined && Date.parse(expiresAt) - now.getTime() < refreshBeforeMs

/**
 * Refreshes tokens by one daemon at a time: many providers accept a refresh token once, and revoke all tokens when it
 * is reused.
 */
export async function renewTokens(dependencies: DeviceGrantDependencies, id: number): Promise<Tokens> {
  for (const giveUpAt = performance.now() + maxWaitMs; ; await delay(pollMs)) {
    const lease = await acquireLease(dependencies.db, dependencies.daemonId, exchangeLease(id), leaseMs)
    if (lease)
      return exchangeTokens(dependencies, id).finally(() =>
        dependencies.db
          .transaction(tx => lease.release(tx))
          .catch(() => {
            /* The lease ends when it expires. */
          }),
      )
    if (performance.now() > giveUpAt)
      throw new Problem(
        'PROVIDER_UNAVAILABLE',
        'Another server is renewing the tokens of this credential, and has not finished. Try again.',
      )
  }
}

/** Exchanges expiring tokens and stores the new ones. If the provider returns none, the old ones stay. */
async function exchangeTokens(
  { config, db, seal, outboundDispatcher }: DeviceGrantDependencies,
  id: number,
): Promise<Tokens> {
  const credential = await readCredential(db, id)
  if (!credential?.sealed) throw new Problem('CREDENTIAL_NOT_FOUND')
  const old = tokensOf(seal, credential)
  if (!isOld(old, config.clock())) return old
  const authorization = authorizationOf(credential)
  const tokens = await exchangeRefreshToken(
    authorization.source,
    clientSecretFor(config, credential, authorization),
    old.refreshToken!,
    config.clock(),
    await outboundDispatcher(credential.userId),
  )
  if (!tokens) return old
  await db.transaction(tx =>
    setAuthorization(tx, id, {
      oauth: credential.oauth!,
      sealed: seal.seal(secretPlace(credential), JSON.stringify(tokens)),
    }),
  )
  return tokens
}
