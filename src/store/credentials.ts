import type { CredentialProvider } from '../contract/credentials.ts'
import type { Reader, Transaction } from './database.ts'

/**
 * A credential as it is stored. `sealed` holds the API key, or the tokens of an authorization as JSON; null while there are none.
 * `oauth` is JSON text: how far the authorization is. `lastFour` is shown of an API key.
 */
export interface CredentialRow {
  id: number
  userId: number
  name: string
  provider: CredentialProvider
  kind: 'api_key' | 'oauth'
  baseUrl: string | null
  sealed: string | null
  lastFour: string | null
  oauth: string | null
  createdAt: string
  updatedAt: string
}
export interface UsageRow {
  day: string
  sessions: number
  inputTokens: number
  outputTokens: number
  costUsd: number
}

const fields = `k.id, k.user_id AS userId, k.name, k.provider, k.kind, k.base_url AS baseUrl, k.sealed, k.last_four AS lastFour, k.oauth, k.created_at AS createdAt, k.updated_at AS updatedAt`

export const listCredentials = (db: Reader, userId: number): Promise<CredentialRow[]> =>
  db.all(`SELECT ${fields} FROM credentials k WHERE k.user_id = ? ORDER BY k.id`, [userId])
export const readCredential = (db: Reader, id: number): Promise<CredentialRow | undefined> =>
  db.get(`SELECT ${fields} FROM credentials k WHERE k.id = ?`, [id])

/** The card's own credential, else its project's, else its organization's default. */
export const readCredentialOfCard = (db: Reader, cardId: number): Promise<CredentialRow | undefined> =>
  db.get(
    `SELECT ${fields} FROM cards c JOIN projects p ON p.id = c.project_id LEFT JOIN organizations o ON o.id = p.organization_id
   JOIN credentials k ON k.id = coalesce(c.credential_id, p.credential_id, o.default_credential_id) WHERE c.id = ?`,
    [cardId],
  )

export const insertCredential = async (
  tx: Transaction,
  credential: Pick<CredentialRow, 'userId' | 'name' | 'provider' | 'kind' | 'baseUrl'>,
): Promise<number> =>
  (
    await tx.run(
      'INSERT INTO credentials (user_id, name, provider, kind, base_url, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?)',
      [credential.userId, credential.name, credential.provider, credential.kind, credential.baseUrl, tx.now, tx.now],
    )
  ).lastId

export const updateCredential = async (
  tx: Transaction,
  id: number,
  credential: Pick<CredentialRow, 'name' | 'baseUrl' | 'sealed' | 'lastFour'>,
): Promise<void> => {
  await tx.run(
    'UPDATE credentials SET name = ?, base_url = ?, sealed = ?, last_four = ?, updated_at = ? WHERE id = ?',
    [credential.name, credential.baseUrl, credential.sealed, credential.lastFour, tx.now, id],
  )
}

/** Writes how far an authorization is, and the tokens that it has brought. */
export const setAuthorization = async (
  tx: Transaction,
  id: number,
  { oauth, sealed }: { oauth: string; sealed: string | null },
): Promise<void> => {
  await tx.run('UPDATE credentials SET oauth = ?, sealed = ?, updated_at = ? WHERE id = ?', [oauth, sealed, tx.now, id])
}

/** How many authorizations of an account wait for somebody at this time. */
export const countPendingAuthorizations = async (db: Reader, userId: number, now: string): Promise<number> =>
  (await db.get<{ total: number }>(
    `SELECT count(*) AS total FROM credentials WHERE user_id = ? AND kind = 'oauth' AND json_extract(oauth, '$.status') = 'pending' AND json_extract(oauth, '$.expiresAt') > ?`,
    [userId, now],
  ))!.total

/** Deletes a credential; projects, cards and organizations that used it have none then. */
export const deleteCredential = async (tx: Transaction, id: number): Promise<void> => {
  await tx.run('DELETE FROM credentials WHERE id = ?', [id])
}

export const setOrganizationCredential = async (
  tx: Transaction,
  organizationId: number,
  credentialId: number | null,
): Promise<void> => {
  await tx.run('UPDATE organizations SET default_credential_id = ? WHERE id = ?', [credentialId, organizationId])
}

/** Adds what a session has used to its day, UTC. */
export const addUsage = async (
  tx: Transaction,
  credentialId: number,
  { day, sessions, inputTokens, outputTokens, costUsd }: UsageRow,
): Promise<void> => {
  await tx.run(
    `INSERT INTO credential_usage (credential_id, day, sessions, input_tokens, output_tokens, cost_usd) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET sessions = sessions + excluded.sessions, input_tokens = input_tokens + excluded.input_tokens,
       output_tokens = output_tokens + excluded.output_tokens, cost_usd = cost_usd + excluded.cost_usd`,
    [credentialId, day, sessions, inputTokens, outputTokens, costUsd],
  )
}

const usageSums =
  'coalesce(sum(sessions), 0) AS sessions, coalesce(sum(input_tokens), 0) AS inputTokens, coalesce(sum(output_tokens), 0) AS outputTokens, coalesce(sum(cost_usd), 0) AS costUsd'
export const sumUsage = async (db: Reader, credentialId: number): Promise<Omit<UsageRow, 'day'>> =>
  (await db.get<Omit<UsageRow, 'day'>>(`SELECT ${usageSums} FROM credential_usage WHERE credential_id = ?`, [
    credentialId,
  ]))!
/** The latest days with usage, oldest first. */
export const listUsage = (db: Reader, credentialId: number, maxDays: number): Promise<UsageRow[]> =>
  db.all(
    `SELECT * FROM (SELECT day, sessions, input_tokens AS inputTokens, output_tokens AS outputTokens, cost_usd AS costUsd FROM credential_usage WHERE credential_id = ? ORDER BY day DESC LIMIT ?) ORDER BY day`,
    [credentialId, maxDays],
  )
