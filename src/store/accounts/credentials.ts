import type { CredentialProvider } from '../../contract/accounts/credentials.ts'
import type { Reader, Transaction } from '../engine/database.ts'
import { defineRecord, id, json, number, text, type Change, type NewRow, type Row } from '../engine/record.ts'

/** A stored credential. */
export const credentialFields = {
  id: id(),
  userId: id(),
  name: text(),
  provider: text<CredentialProvider>(),
  kind: text<'api_key' | 'oauth'>(),
  baseUrl: text().orNull(),
  /** The API key, or the tokens of an authorization as JSON. Null if there are none yet. */
  sealed: text().orNull(),
  /** Headers that are sent with each request. Null if there are none. */
  headers: json<SealedHeaders>().orNull(),
  /** The models of the credential's endpoint, the default one first. */
  models: json<string[]>().initially('[]'),
  agentSlots: number().orNull(),
  /** The part of an API key that is shown. */
  lastFour: text().orNull(),
  /** The state of an authorization, as JSON. */
  oauth: text().orNull(),
  createdAt: text().initiallyNow(),
  updatedAt: text().initiallyNow(),
}
/** Headers by name, with their values sealed together as JSON. */
export interface SealedHeaders {
  names: string[]
  sealed: string
}
export type CredentialRow = Row<typeof credentialFields>
export interface UsageRow {
  day: string
  sessions: number
  inputTokens: number
  outputTokens: number
  costUsd: number
}

const record = defineRecord('credentials', 'k', credentialFields)
const fields = record.columns

export const listCredentials = (db: Reader, userId: number): Promise<CredentialRow[]> =>
  db.all(`SELECT ${fields} FROM credentials k WHERE k.user_id = ? ORDER BY k.id`, [userId])
export const readCredential = (db: Reader, id: number): Promise<CredentialRow | undefined> =>
  db.get(`SELECT ${fields} FROM credentials k WHERE k.id = ?`, [id])
/** Returns those of the IDs that exist. */
export const listPresentCredentials = async (db: Reader, ids: readonly number[]): Promise<number[]> =>
  (
    await db.all<{ id: number }>('SELECT k.id FROM json_each(?) j JOIN credentials k ON k.id = j.value', [
      JSON.stringify(ids),
    ])
  ).map(({ id }) => id)

/** The credential of a card: its own, or else that of its profile, of its project, or its organization's default. */
export const readCredentialOfCard = (
  db: Reader,
  cardId: number,
  profileCredentialId: number | null,
): Promise<CredentialRow | undefined> =>
  db.get(
    `SELECT ${fields} FROM cards c JOIN projects p ON p.id = c.project_id LEFT JOIN organizations o ON o.id = p.organization_id
   JOIN credentials k ON k.id = coalesce(c.credential_id, ?, p.credential_id, o.default_credential_id) WHERE c.id = ?`,
    [profileCredentialId, cardId],
  )

/** Like `readCredentialOfCard`, for a card without its own credential. */
export const readCredentialOfProject = (
  db: Reader,
  projectId: number,
  profileCredentialId: number | null,
): Promise<CredentialRow | undefined> =>
  db.get(
    `SELECT ${fields} FROM projects p LEFT JOIN organizations o ON o.id = p.organization_id
   JOIN credentials k ON k.id = coalesce(?, p.credential_id, o.default_credential_id) WHERE p.id = ?`,
    [profileCredentialId, projectId],
  )

export const insertCredential = (tx: Transaction, credential: NewRow<typeof credentialFields>): Promise<number> =>
  record.insert(tx, credential)

export const updateCredential = async (
  tx: Transaction,
  id: number,
  change: Pick<
    Change<typeof credentialFields>,
    'name' | 'baseUrl' | 'sealed' | 'lastFour' | 'headers' | 'models' | 'agentSlots'
  >,
): Promise<void> => record.update(tx, id, change)

/** Stores the state of an authorization and its tokens. */
export const setAuthorization = async (
  tx: Transaction,
  id: number,
  { oauth, sealed }: { oauth: string; sealed: string | null },
): Promise<void> => record.update(tx, id, { oauth, sealed })

/** How many authorizations of an account are pending at this time. */
export const countPendingAuthorizations = async (db: Reader, userId: number, now: string): Promise<number> =>
  (await db.get<{ total: number }>(
    `SELECT count(*) AS total FROM credentials WHERE user_id = ? AND kind = 'oauth' AND json_extract(oauth, '$.status') = 'pending' AND json_extract(oauth, '$.expiresAt') > ?`,
    [userId, now],
  ))!.total

/** Deletes a credential and clears it from the projects, cards and organizations that used it. */
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

/** Adds a session's usage to its day, UTC. */
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
