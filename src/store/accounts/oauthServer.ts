import type { Reader, Transaction } from '../engine/database.ts'

/** An app that has registered itself. `redirectUris` is a JSON list. */
export interface OauthClient {
  id: number
  clientId: string
  name: string
  redirectUris: string
}
type TokenKind = 'code' | 'access' | 'refresh'
export interface NewOauthToken {
  hash: string
  kind: TokenKind
  keyId: number
  expiresAt: string
  /** Only for a code: the PKCE challenge and the bound address. */
  challenge?: string
  redirectUri?: string
}
/** A token with its key and its app. */
export interface OauthToken {
  hash: string
  kind: TokenKind
  keyId: number
  userId: number
  permissions: string
  /** The row's ID, and the public ID. */
  oauthClientId: number
  clientId: string
  challenge: string | null
  redirectUri: string | null
  expiresAt: string
  usedAt: string | null
}

export const findOauthClient = (db: Reader, clientId: string): Promise<OauthClient | undefined> =>
  db.get(
    'SELECT id, client_id AS clientId, name, redirect_uris AS redirectUris FROM oauth_clients WHERE client_id = ?',
    [clientId],
  )

/** Stores an app. Deletes the oldest of more than `maxUnused` apps that no user has allowed yet. */
export async function insertOauthClient(
  tx: Transaction,
  client: Omit<OauthClient, 'id'>,
  maxUnused: number,
): Promise<void> {
  tx.enqueue('INSERT INTO oauth_clients (client_id, name, redirect_uris, created_at) VALUES (?, ?, ?, ?)', [
    client.clientId,
    client.name,
    client.redirectUris,
    tx.now,
  ])
  tx.enqueue(
    'DELETE FROM oauth_clients WHERE id IN (SELECT id FROM oauth_clients WHERE approved_at IS NULL ORDER BY id DESC LIMIT -1 OFFSET ?)',
    [maxUnused],
  )
}

export const setOauthClientApproved = async (tx: Transaction, id: number): Promise<void> =>
  tx.enqueue('UPDATE oauth_clients SET approved_at = ? WHERE id = ?', [tx.now, id])

export const insertOauthToken = async (tx: Transaction, token: NewOauthToken): Promise<void> =>
  tx.enqueue(
    'INSERT INTO oauth_tokens (hash, kind, key_id, challenge, redirect_uri, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?)',
    [token.hash, token.kind, token.keyId, token.challenge, token.redirectUri, tx.now, token.expiresAt],
  )

export const findOauthToken = (db: Reader, hash: string): Promise<OauthToken | undefined> =>
  db.get(
    `SELECT t.hash, t.kind, t.key_id AS keyId, k.user_id AS userId, k.permissions, c.id AS oauthClientId, c.client_id AS clientId, t.challenge, t.redirect_uri AS redirectUri, t.expires_at AS expiresAt, t.used_at AS usedAt
   FROM oauth_tokens t JOIN api_keys k ON k.id = t.key_id JOIN oauth_clients c ON c.id = k.oauth_client_id WHERE t.hash = ?`,
    [hash],
  )

export const setOauthTokenUsed = async (tx: Transaction, hash: string): Promise<void> =>
  tx.enqueue('UPDATE oauth_tokens SET used_at = ? WHERE hash = ?', [tx.now, hash])

export const deleteOauthToken = async (tx: Transaction, hash: string): Promise<void> =>
  tx.enqueue('DELETE FROM oauth_tokens WHERE hash = ?', [hash])

/** Deletes the tokens of a kind that a key has beyond the newest `maxKept`. */
export const trimOauthTokens = async (
  tx: Transaction,
  keyId: number,
  kind: TokenKind,
  maxKept: number,
): Promise<void> =>
  tx.enqueue(
    'DELETE FROM oauth_tokens WHERE id IN (SELECT id FROM oauth_tokens WHERE key_id = ? AND kind = ? ORDER BY id DESC LIMIT -1 OFFSET ?)',
    [keyId, kind, maxKept],
  )

/** Deletes the grant of an app. */
export const deleteOauthGrant = async (tx: Transaction, keyId: number): Promise<void> =>
  tx.enqueue('DELETE FROM api_keys WHERE id = ? AND oauth_client_id IS NOT NULL', [keyId])

/** Deletes an account's grants to an app before `keyId`, and returns the IDs of their keys. */
export const deleteOtherOauthGrants = async (
  tx: Transaction,
  { userId, oauthClientId, keyId }: Pick<OauthToken, 'userId' | 'oauthClientId' | 'keyId'>,
): Promise<number[]> =>
  (
    await tx.all<{ id: number }>(
      'DELETE FROM api_keys WHERE user_id = ? AND oauth_client_id = ? AND id <> ? RETURNING id',
      [userId, oauthClientId, keyId],
    )
  ).map(({ id }) => id)

/** Ends every sign-in of an app. */
export const deleteAllOauthGrants = async (tx: Transaction): Promise<void> =>
  tx.enqueue('DELETE FROM api_keys WHERE oauth_client_id IS NOT NULL')

/**
 * Deletes tokens and grants that ended before `ended`. Deletes apps without a grant if they were registered before `unusedSince` and never
 * allowed, or were last allowed before `idleSince`.
 */
export async function forgetOauth(
  tx: Transaction,
  { ended, unusedSince, idleSince }: { ended: string; unusedSince: string; idleSince: string },
): Promise<void> {
  tx.enqueue('DELETE FROM oauth_tokens WHERE expires_at < ?', [ended])
  tx.enqueue('DELETE FROM api_keys WHERE oauth_client_id IS NOT NULL AND expires_at < ?', [ended])
  tx.enqueue(
    `DELETE FROM oauth_clients WHERE NOT EXISTS (SELECT 1 FROM api_keys WHERE oauth_client_id = oauth_clients.id)
     AND iif(approved_at IS NULL, created_at < ?, approved_at < ?)`,
    [unusedSince, idleSince],
  )
}
