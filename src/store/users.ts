import type { UserRole } from '../contract/fields.ts'
import type { Reader, Transaction } from './database.ts'

/** The account before the first user exists: whoever holds the local token. What it owns passes to the first user. */
export const localOperator = 0

export interface UserRow { id: number; email: string; displayName: string; role: UserRole }

const fields = 'id, email, display_name AS displayName, role'

export const hasUsers = async (db: Reader): Promise<boolean> => await db.get('SELECT 1 FROM users LIMIT 1') !== undefined

export const readFirstSuperAdmin = (db: Reader): Promise<UserRow | undefined> => db.get(`SELECT ${fields} FROM users WHERE role = 'super_admin' ORDER BY id LIMIT 1`)

/** The account with an email, upper or lower case, and its password's hash: null when it signs in elsewhere. */
export const findUserByEmail = (db: Reader, email: string): Promise<(UserRow & { passwordHash: string | null }) | undefined> =>
  db.get(`SELECT ${fields}, password_hash AS passwordHash FROM users WHERE email = ?`, [email])

/** Accounts whose name or email holds the text, by name. */
export const searchUsers = (db: Reader, text: string, limit: number): Promise<UserRow[]> =>
  db.all(`SELECT ${fields} FROM users WHERE email LIKE ?1 ESCAPE '\\' OR display_name LIKE ?1 ESCAPE '\\' ORDER BY display_name COLLATE NOCASE, id LIMIT ?2`, [`%${text.replace(/[\\%_]/g, '\\$&')}%`, limit])

export async function insertUser(tx: Transaction, user: { email: string; displayName: string; role: UserRole; passwordHash: string }): Promise<UserRow> {
  const { lastId } = await tx.run('INSERT INTO users (email, display_name, role, password_hash, created_at) VALUES (?, ?, ?, ?, ?)', [user.email, user.displayName, user.role, user.passwordHash, tx.now])
  return { id: lastId, email: user.email, displayName: user.displayName, role: user.role }
}

const owned = ['organization_members', 'project_members', 'project_visits', 'api_keys', 'credentials', 'board_templates', 'panel_states', 'user_settings']

/** Gives everything that one account owns to another one, which owns nothing yet. */
export async function passOn(tx: Transaction, from: number, to: number): Promise<void> {
  await tx.run('UPDATE projects SET owner_id = ? WHERE owner_id = ?', [to, from])
  for (const table of owned) await tx.run(`UPDATE ${table} SET user_id = ? WHERE user_id = ?`, [to, from])
}
