import type { UserRole } from '../contract/fields.ts'
import type { Reader, Transaction } from './database.ts'
import { grantBeside, type GrantBeside } from './projects.ts'

export type KeyScope = 'server' | 'organization' | 'project'
/** An API key as it is stored; `permissions` is JSON text. */
export interface KeyRow {
  id: number
  userId: number
  name: string
  scope: KeyScope
  organizationId: number | null
  projectId: number | null
  permissions: string
  lastFour: string
  createdAt: string
  expiresAt: string
  lastUsedAt: string | null
}
/** What a request needs to know of a key, the account that owns it and what ties that to a project. The account's fields are null when it is not there (any more). */
export interface KeyHolder
  extends
    GrantBeside,
    Pick<
      KeyRow,
      'id' | 'userId' | 'name' | 'scope' | 'organizationId' | 'projectId' | 'permissions' | 'expiresAt' | 'lastUsedAt'
    > {
  role: UserRole | null
  email: string | null
  displayName: string | null
  hasUsers: number
}

const fields = `k.id, k.user_id AS userId, k.name, k.scope, k.organization_id AS organizationId, k.project_id AS projectId,
  k.permissions, k.last_four AS lastFour, k.created_at AS createdAt, k.expires_at AS expiresAt, k.last_used_at AS lastUsedAt`

const beside = grantBeside('k.user_id', '?2')
const keyHolder = (
  condition: string,
) => `SELECT k.id, k.user_id AS userId, k.name, k.scope, k.organization_id AS organizationId, k.project_id AS projectId, k.permissions, k.expires_at AS expiresAt, k.last_used_at AS lastUsedAt, u.role, u.email, u.display_name AS displayName,
  u.id IS NOT NULL OR EXISTS (SELECT 1 FROM users) AS hasUsers, ${beside.fields} FROM api_keys k LEFT JOIN users u ON u.id = k.user_id ${beside.joins} WHERE ${condition}`
const keyHolderByHash = keyHolder('k.hash = ?1')
const keyHolderById = keyHolder('k.id = ?1')

/** The key with this hash, and what ties its owner to the project, if one is named. */
export const findKeyHolder = (db: Reader, hash: string, projectId?: number): Promise<KeyHolder | undefined> =>
  db.get(keyHolderByHash, [hash, projectId])
/** A key by its id, and what ties its owner to the project. */
export const readKeyHolder = (db: Reader, id: number, projectId: number): Promise<KeyHolder | undefined> =>
  db.get(keyHolderById, [id, projectId])

export const listKeys = (db: Reader, userId: number): Promise<KeyRow[]> =>
  db.all(`SELECT ${fields} FROM api_keys k WHERE k.user_id = ? ORDER BY k.id`, [userId])

export const readKey = (db: Reader, userId: number, id: number): Promise<KeyRow | undefined> =>
  db.get(`SELECT ${fields} FROM api_keys k WHERE k.id = ? AND k.user_id = ?`, [id, userId])

export type NewKeyRow = Pick<
  KeyRow,
  'userId' | 'name' | 'scope' | 'organizationId' | 'projectId' | 'permissions' | 'lastFour' | 'expiresAt'
> & { hash: string }

export async function insertKey(tx: Transaction, key: NewKeyRow): Promise<KeyRow> {
  const { hash, ...shown } = key
  const { lastId } = await tx.run(
    'INSERT INTO api_keys (hash, user_id, name, scope, organization_id, project_id, permissions, last_four, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
    [
      hash,
      key.userId,
      key.name,
      key.scope,
      key.organizationId,
      key.projectId,
      key.permissions,
      key.lastFour,
      tx.now,
      key.expiresAt,
    ],
  )
  return { ...shown, id: lastId, createdAt: tx.now, lastUsedAt: null }
}

export const setKeyExpiry = async (tx: Transaction, id: number, expiresAt: string): Promise<void> => {
  tx.enqueue('UPDATE api_keys SET expires_at = ? WHERE id = ?', [expiresAt, id])
}

export const setKeyLastUsed = async (tx: Transaction, id: number, at: string): Promise<void> => {
  tx.enqueue('UPDATE api_keys SET last_used_at = ? WHERE id = ?', [at, id])
}

/** Deletes a key of the account, and tells whether there was one. */
export const deleteKey = async (tx: Transaction, userId: number, id: number): Promise<boolean> =>
  (await tx.run('DELETE FROM api_keys WHERE id = ? AND user_id = ?', [id, userId])).changes === 1

/** Whether an organization exists and the account is in it, or sees all of them. */
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
