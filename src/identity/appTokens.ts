import { hash } from 'node:crypto'
import { accessUpTo, appAccess, permissionsOf, type AppAccess } from '../contract/accounts/oauth.ts'
import { Problem } from '../contract/errors.ts'
import { tokenPrefixOf, hashToken, createToken, type TokenPrefix } from '../domain/accounts/token.ts'
import { insertAuditRow } from '../store/server/audit.ts'
import type { Transaction } from '../store/engine/database.ts'
import { setKeyExpiry } from '../store/accounts/keys.ts'
import {
  deleteOauthGrant,
  deleteOauthToken,
  deleteOtherOauthGrants,
  findOauthToken,
  insertOauthToken,
  setOauthTokenUsed,
  trimOauthTokens,
  type OauthToken,
} from '../store/accounts/oauthServer.ts'
import { requireApp } from './appRegistration.ts'
import type { AuthContext } from './identity.ts'

const accessSecs = 3600
const refreshMs = 30 * 86_400_000
/** The maximum number of stored tokens of an app that refreshes continuously. */
const [maxAccessTokens, maxRefreshTokens] = [10, 1000]

/** An app's request to exchange a code or a token for tokens. */
export interface Trade {
  client_id?: string
  code?: string
  code_verifier?: string
  redirect_uri?: string
  refresh_token?: string
}
/** The response in OAuth's format. */
export interface AppTokens {
  access_token: string
  token_type: 'Bearer'
  expires_in: number
  refresh_token: string
  scope: string
}
/** A failure that revokes something is not an exception, because the rollback would restore the revoked tokens. */
type Outcome = AppTokens | 'refused'

/**
 * Exchanges a code for tokens: once, within a minute, by the app that requested it. A second attempt revokes the tokens of the
 * first one, and an attempt that does not match revokes the code, because it was leaked.
 * @throws Problem INVALID_CLIENT, INVALID_GRANT
 */
export const tradeCode = (auth: AuthContext, trade: Trade, address: string): Promise<AppTokens> =>
  exchangeInTransaction(auth, async tx => {
    const app = await requireApp(tx, trade.client_id)
    const found = await findOfKind(tx, 'svc_oc_', trade.code)
    if (!found) return 'refused'
    const fits =
      found.usedAt === null &&
      found.oauthClientId === app.id &&
      found.expiresAt > tx.now &&
      found.challenge === hash('sha256', trade.code_verifier ?? '', 'base64url') &&
      (trade.redirect_uri === undefined || trade.redirect_uri === found.redirectUri)
    if (!fits) {
      await endGrant(auth, tx, found, address, found.usedAt === null ? 'CODE_REFUSED' : 'CODE_REUSED')
      return 'refused'
    }
    await setOauthTokenUsed(tx, found.hash)
    for (const keyId of await deleteOtherOauthGrants(tx, found)) await auth.identity.announce(tx, { keyId })
    return issueTokens(tx, found)
  })

/**
 * Exchanges a refresh token for new tokens, once. A second attempt means that two parties have it, so all access of the app is
 * revoked.
 * @throws Problem INVALID_CLIENT, INVALID_GRANT
 */
export const refreshTokens = (auth: AuthContext, trade: Trade, address: string): Promise<AppTokens> =>
  exchangeInTransaction(auth, async tx => {
    const app = await requireApp(tx, trade.client_id)
    const found = await findOfKind(tx, 'svc_or_', trade.refresh_token)
    if (found?.oauthClientId !== app.id) return 'refused'
    if (found.usedAt !== null) {
      await endGrant(auth, tx, found, address, 'REFRESH_TOKEN_REUSED')
      return 'refused'
    }
    if (found.expiresAt <= tx.now) return 'refused'
    await setOauthTokenUsed(tx, found.hash)
    return issueTokens(tx, found)
  })

/**
 * Revokes an access token, or with a refresh token all access of the app. An unknown token counts as revoked.
 * @throws Problem INVALID_CLIENT, also for the token of another app
 */
export async function revokeToken(
  { db, identity }: AuthContext,
  { client_id: clientId, token = '' }: { client_id?: string; token?: string },
  address: string,
): Promise<void> {
  await db.transaction(async tx => {
    const app = await requireApp(tx, clientId)
    const found = await findOauthToken(tx, hashToken(token))
    if (!found) return
    if (found.oauthClientId !== app.id) throw new Problem('INVALID_CLIENT', 'The token belongs to another app.')
    if (found.kind !== 'access') return endGrant({ identity }, tx, found, address)
    await deleteOauthToken(tx, found.hash)
    await identity.announce(tx, { tokenHash: found.hash })
  })
}

async function exchangeInTransaction(
  { db }: AuthContext,
  work: (tx: Transaction) => Promise<Outcome>,
): Promise<AppTokens> {
  const outcome = await db.transaction(work)
  if (outcome === 'refused') throw new Problem('INVALID_GRANT')
  return outcome
}

async function findOfKind(tx: Transaction, prefix: TokenPrefix, token = ''): Promise<OauthToken | undefined> {
  return tokenPrefixOf(token) === prefix ? findOauthToken(tx, hashToken(token)) : undefined
}

async function issueTokens(tx: Transaction, { keyId, permissions }: OauthToken): Promise<AppTokens> {
  const [access, refresh] = [createToken('svc_ot_'), createToken('svc_or_')]
  const after = (ms: number) => new Date(Date.parse(tx.now) + ms).toISOString()
  const endsAt = after(refreshMs)
  await insertOauthToken(tx, { kind: 'access', hash: hashToken(access), keyId, expiresAt: after(accessSecs * 1000) })
  await insertOauthToken(tx, { kind: 'refresh', hash: hashToken(refresh), keyId, expiresAt: endsAt })
  await trimOauthTokens(tx, keyId, 'access', maxAccessTokens)
  await trimOauthTokens(tx, keyId, 'refresh', maxRefreshTokens)
  await setKeyExpiry(tx, keyId, endsAt)
  return {
    access_token: access,
    token_type: 'Bearer',
    expires_in: accessSecs,
    refresh_token: refresh,
    scope: scopeOf(permissions).join(' '),
  }
}

function scopeOf(permissions: string): AppAccess[] {
  const held = JSON.parse(permissions) as string[]
  const access = appAccess.filter(each => permissionsOf(each).every(permission => held.includes(permission)))
  return accessUpTo(access.at(-1)!)
}

/** Revokes all access of an app. @param why the audit log's code if the cause was a theft */
async function endGrant(
  { identity }: Pick<AuthContext, 'identity'>,
  tx: Transaction,
  { keyId, clientId }: OauthToken,
  address: string,
  why?: string,
): Promise<void> {
  await deleteOauthGrant(tx, keyId)
  await identity.announce(tx, { keyId })
  insertAuditRow(tx, {
    outcome: why === undefined ? 'ok' : 'failed',
    action: why === undefined ? 'oauth.revoke' : 'oauth.token',
    actorKind: 'nobody',
    actorId: null,
    actorName: null,
    targetKind: 'key',
    targetId: String(keyId),
    viaKind: 'key',
    viaId: String(keyId),
    address,
    detail: JSON.stringify({ clientId, ...(why !== undefined && { code: why }) }),
  })
}
