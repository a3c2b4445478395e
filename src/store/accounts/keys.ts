import type { UserRole } from '../../contract/fields.ts'
import type { Permission } from '../../contract/route.ts'
import type { Reader, Transaction } from '../engine/database.ts'
import { joinedGrant, type JoinedGrant } from '../projects/projects.ts'
import { defineRecord, entriesOf, id, json, text, type NewRow, type Row } from '../engine/record.ts'
import { users } from './users.ts'

export type KeyScope = 'server' | 'organization' | 'project'
/** The fields of an API key that its owner can read. */
export const publicKeyFields = {
  id: id(),
  userId: id(),
  name: text(),
  scope: text<KeyScope>(),
  organizationId: id().orNull(),
  projectId: id().orNull(),
  permissions: json<Permission[]>(),
  lastFour: text(),
  createdAt: text().initiallyNow(),
  expiresAt: text(),
  lastUsedAt: text().orNull(),
  /** The app whose sign-in this key represents. No one has the secret of such a key: the app's tokens refer to the key. */
  app: text().orNull(),
}
const storedFields = { ...publicKeyFields, hash: text(), oauthClientId: id().orNull() }
export type KeyRow = Row<typeof publicKeyFields>
/**
 * The data that authenticates a request: a key, the account that owns it and the account's grant in the project. The account's
 * fields are null if it was deleted.
 */
export interface KeyHolder extends JoinedGrant, Pick<KeyRow, (typeof holderFields)[number] | 'expiresAt'> {
  role: UserRole | null
  email: string | null
  displayName: string | null
  hasUsers: number
}

const record = defineRecord('api_keys', 'k', storedFields)
const fields = record.columnsOf(entriesOf({ entries: publicKeyFields }))
const holderFields = [
  'id',
  'userId',
  'name',
  'scope',
  'organizationId',
  'projectId',
  'permissions',
  'lastUsedAt',
] as const

const grant = joinedGrant('k.user_id')
const keyHolder = (condition: string, expiresAt = 'k.expires_at') =>
  `SELECT ${record.columnsOf(holderFields)}, ${expiresAt} AS expiresAt, ${users.columnsOf(['role', 'email', 'displayName'])},
  u.id IS NOT NULL OR EXISTS (SELECT 1 FROM users) AS hasUsers, ${grant.fields} FROM api_keys k LEFT JOIN users u ON u.id = k.user_id ${grant.joins} WHERE ${condition}`
const keyHolderByHash = keyHolder('k.hash = ?1')
const keyHolderById = keyHolder('k.id = ?1')
const ofToken = (field: string) => `(SELECT t.${field} FROM oauth_tokens t WHERE t.hash = ?1 AND t.kind = 'access')`
const keyHolderByAccessToken = keyHolder(`k.id = ${ofToken('key_id')}`, ofToken('expires_at'))

/** The key with this hash, and its owner's grant in the project, if a project is given. */
export const findKeyHolder = (db: Reader, hash: string, projectId?: number): Promise<KeyHolder | undefined> =>
  db.get(keyHolderByHash, [hash, projectId])
/** The key of a connected app's access token, with the token's expiry instead of the key's. */
export const findKeyHolderByAccessToken = (
  db: Reader,
  hash: string,
  projectId?: number,
): Promise<KeyHolder | undefined> => db.get(keyHolderByAccessToken, [hash, projectId])
/** A key by its ID, and its owner's grant in the project. */
export const readKeyHolder = (db: Reader, id: number, projectId: number): Promise<KeyHolder | undefined> =>
  db.get(keyHolderById, [id, projectId])

export const listKeys = (db: Reader, userId: number): Promise<KeyRow[]> =>
  db.all(`SELECT ${fields} FROM api_keys k WHERE k.user_id = ? ORDER BY k.id`, [userId])

export const readKey = (db: Reader, userId: number, id: number): Promise<KeyRow | undefined> =>
  db.get(`SELECT ${fields} FROM api_keys k WHERE k.id = ? AND k.user_id = ?`, [id, userId])

export type NewKeyRow = NewRow<typeof storedFields>

export async function insertKey(tx: Transaction, key: NewKeyRow): Promise<KeyRow> {
  const { hash: _, oauthClientId: _client, ...shown } = key
  const id = await record.insert(tx, key)
  return { organizationId: null, projectId: null, app: null, ...shown, id, createdAt: tx.now, lastUsedAt: null }
}

export const setKeyExpiry = async (tx: Transaction, id: number, expiresAt: string): Promise<void> =>
  record.update(tx, id, { expiresAt })

export const setKeyLastUsed = async (tx: Transaction, id: number, at: string): Promise<void> =>
  record.update(tx, id, { lastUsedAt: at })

/** Deletes a key of the account, and returns whether there was one. */
export const deleteKey = async (tx: Transaction, userId: number, id: number): Promise<boolean> =>
  (await tx.run('DELETE FROM api_keys WHERE id = ? AND user_id = ?', [id, userId])).changes === 1

/** Whether an organization exists and the account is a member, or can see all organizations. */
export const seesOrganization = async (
  db: Reader,
  userId: number,
  seesAll: boolean,
  organizationId: number,
): Promise<boolean> =>
  (await db.get(
    'SELECT 1 FROM organizations o WHERE o.id = ?1 AND (?2 OR EXISTS (SELECT 1 FROM organization_members m WHERE m.organization_id = o.id AND m.user_id = ?3))',
    [organizationId, seesAll, userId],
  )) !== undefined
