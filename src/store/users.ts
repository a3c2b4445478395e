import type { UserRole } from '../contract/fields.ts'
import type { Reader, Transaction } from './database.ts'
import { noteRightsChanged } from './rights.ts'

/** The account before the first user exists: whoever holds the local token. What it owns passes to the first user. */
export const localOperator = 0

export interface UserRow {
  id: number
  email: string
  displayName: string
  role: UserRole
}
/** An account as administrators see it. */
export interface AccountRow extends UserRow {
  authProvider: 'local' | 'oidc'
  avatarUrl: string | null
  createdAt: string
  /** 1 for an account that registered itself, until somebody confirms its address. */
  selfRegistered: number
}

const fields = 'id, email, display_name AS displayName, role'
const accountFields = `${fields}, auth_provider AS authProvider, avatar_url AS avatarUrl, created_at AS createdAt, self_registered AS selfRegistered`

export const hasUsers = async (db: Reader): Promise<boolean> =>
  (await db.get('SELECT 1 FROM users LIMIT 1')) !== undefined

export const readFirstSuperAdmin = (db: Reader): Promise<UserRow | undefined> =>
  db.get(`SELECT ${fields} FROM users WHERE role = 'super_admin' ORDER BY id LIMIT 1`)

/** The owner of what an account creates: the first user may have replaced the local operator since the request came in. */
export const ownerFor = async (tx: Transaction, userId: number): Promise<number> =>
  userId === localOperator ? ((await readFirstSuperAdmin(tx))?.id ?? localOperator) : userId

/** The account with an email, whatever its case. `passwordHash` is null when it signs in with an identity provider. */
export const findUserByEmail = (
  db: Reader,
  email: string,
): Promise<(UserRow & { passwordHash: string | null; selfRegistered: number }) | undefined> =>
  db.get(
    `SELECT ${fields}, password_hash AS passwordHash, self_registered AS selfRegistered FROM users WHERE email = ?`,
    [email],
  )

const matchesText = `(email LIKE ?1 ESCAPE '\\' OR display_name LIKE ?1 ESCAPE '\\')`
const likePattern = (text: string) => `%${text.replace(/[\\%_]/g, '\\$&')}%`

/** Accounts whose name or email holds the text, by name. */
export const searchUsers = (db: Reader, text: string, limit: number): Promise<UserRow[]> =>
  db.all(`SELECT ${fields} FROM users WHERE ${matchesText} ORDER BY display_name COLLATE NOCASE, id LIMIT ?2`, [
    likePattern(text),
    limit,
  ])

/** A page of all accounts, or of those whose name or email holds the text, in the order in which they were made. */
export const listAccounts = (
  db: Reader,
  { search = '', offset, limit }: { search?: string; offset: number; limit: number },
): Promise<AccountRow[]> =>
  db.all(`SELECT ${accountFields} FROM users WHERE ${matchesText} ORDER BY id LIMIT ?2 OFFSET ?3`, [
    likePattern(search),
    limit,
    offset,
  ])
export const countAccounts = async (db: Reader, search = ''): Promise<number> =>
  (await db.get<{ total: number }>(`SELECT count(*) AS total FROM users WHERE ${matchesText}`, [likePattern(search)]))!
    .total

export const readAccount = (db: Reader, id: number): Promise<AccountRow | undefined> =>
  db.get(`SELECT ${accountFields} FROM users WHERE id = ?`, [id])
/** The first super_admin other than this account. */
export const readOtherSuperAdmin = (db: Reader, id: number): Promise<UserRow | undefined> =>
  db.get(`SELECT ${fields} FROM users WHERE role = 'super_admin' AND id <> ? ORDER BY id LIMIT 1`, [id])

/** Whether there is a super_admin other than this account. */
export const hasOtherSuperAdmin = async (db: Reader, id: number): Promise<boolean> =>
  (await db.get(`SELECT 1 FROM users WHERE role = 'super_admin' AND id <> ? LIMIT 1`, [id])) !== undefined

export async function insertUser(
  tx: Transaction,
  user: { email: string; displayName: string; role: UserRole; passwordHash: string },
): Promise<UserRow> {
  const { lastId } = await tx.run(
    'INSERT INTO users (email, display_name, role, password_hash, created_at) VALUES (?, ?, ?, ?, ?)',
    [user.email, user.displayName, user.role, user.passwordHash, tx.now],
  )
  return { id: lastId, email: user.email, displayName: user.displayName, role: user.role }
}

export const updateUser = async (
  tx: Transaction,
  id: number,
  { displayName, role }: Pick<UserRow, 'displayName' | 'role'>,
): Promise<void> => {
  await tx.run('UPDATE users SET display_name = ?, role = ? WHERE id = ?', [displayName, role, id])
  await noteRightsChanged(tx, id)
}
/** Replaces an account's password hash if it still is `from`; returns whether it was. */
export const replacePasswordHash = async (tx: Transaction, id: number, from: string, to: string): Promise<boolean> =>
  (await tx.run('UPDATE users SET password_hash = ? WHERE id = ? AND password_hash = ?', [to, id, from])).changes === 1
export const setPasswordHash = async (tx: Transaction, id: number, passwordHash: string): Promise<void> => {
  await tx.run('UPDATE users SET password_hash = ? WHERE id = ?', [passwordHash, id])
}

/** Tables whose rows belong to the account in `user_id`. */
const ownedTables = [
  'organization_members',
  'project_members',
  'project_visits',
  'api_keys',
  'credentials',
  'board_templates',
  'panel_states',
  'user_settings',
  'webhooks',
]

/** Gives everything that one account owns to another one, which owns nothing yet. */
export async function reassignOwned(tx: Transaction, from: number, to: number): Promise<void> {
  await tx.run('UPDATE projects SET owner_id = ? WHERE owner_id = ?', [to, from])
  await tx.run('UPDATE webhooks SET maker_user_id = ? WHERE maker_user_id = ?', [to, from])
  for (const table of ownedTables) await tx.run(`UPDATE ${table} SET user_id = ? WHERE user_id = ?`, [to, from])
}

/** Deletes an account with everything that it owns. Reassign before what others use of it. */
export async function deleteUser(tx: Transaction, id: number): Promise<void> {
  for (const table of ownedTables) await tx.run(`DELETE FROM ${table} WHERE user_id = ?`, [id])
  await tx.run('DELETE FROM users WHERE id = ?', [id])
}
