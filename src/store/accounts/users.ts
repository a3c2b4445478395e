import type { UserRole } from '../../contract/fields.ts'
import type { Reader, Transaction } from '../engine/database.ts'
import { defineRecord, entriesOf, flag, id, text, type NewRow, type Row } from '../engine/record.ts'
import { noteRightsChanged } from './rights.ts'

/**
 * The account before the first user exists, for holders of the local token. The first user takes over everything that it owns.
 */
export const localOperator = 0
export const localOperatorName = 'Local operator'

/** An account. */
export const userFields = {
  id: id(),
  email: text(),
  displayName: text(),
  role: text<UserRole>(),
}
/** An account as administrators see it. */
export const accountFields = {
  ...userFields,
  authProvider: text<'local' | 'oidc'>().initially('local'),
  avatarUrl: text().orNull(),
  createdAt: text().initiallyNow(),
  /** Set for an account that registered itself, until its address is confirmed. */
  selfRegistered: flag().initially(false),
}
const storedFields = {
  ...accountFields,
  /** Null if the account signs in with an identity provider. */
  passwordHash: text().orNull(),
  oidcIssuer: text().orNull(),
  oidcSubject: text().orNull(),
}
export type UserRow = Row<typeof userFields>
export type AccountRow = Row<typeof accountFields>
export type StoredUser = Row<typeof storedFields>

/** Queries name this table `u`. */
export const users = defineRecord('users', 'u', storedFields)
export const userColumns = users.columnsOf(entriesOf({ entries: userFields }))
const accountColumns = users.columnsOf(entriesOf({ entries: accountFields }))

export const hasUsers = async (db: Reader): Promise<boolean> =>
  (await db.get('SELECT 1 FROM users LIMIT 1')) !== undefined

export const readFirstSuperAdmin = (db: Reader): Promise<UserRow | undefined> =>
  db.get(`SELECT ${userColumns} FROM users u WHERE role = 'super_admin' ORDER BY id LIMIT 1`)

/** The owner of new records. The first user might have replaced the local operator since the request arrived. */
export const ownerFor = async (tx: Transaction, userId: number): Promise<number> =>
  userId === localOperator ? ((await readFirstSuperAdmin(tx))?.id ?? localOperator) : userId

/** The account with an email, case-insensitive. */
export const findUserByEmail = (
  db: Reader,
  email: string,
): Promise<(UserRow & Pick<StoredUser, 'passwordHash' | 'selfRegistered'>) | undefined> =>
  db.get(`SELECT ${userColumns}, ${users.columnsOf(['passwordHash', 'selfRegistered'])} FROM users u WHERE email = ?`, [
    email,
  ])

const matchesText = `(email LIKE ?1 ESCAPE '\\' OR display_name LIKE ?1 ESCAPE '\\')`
const likePattern = (text: string) => `%${text.replace(/[\\%_]/g, '\\$&')}%`

/** Accounts whose name or email contains the text, by name. */
export const searchUsers = (db: Reader, text: string, limit: number): Promise<UserRow[]> =>
  db.all(`SELECT ${userColumns} FROM users u WHERE ${matchesText} ORDER BY display_name COLLATE NOCASE, id LIMIT ?2`, [
    likePattern(text),
    limit,
  ])

/** A page of all accounts, or of those whose name or email contains the text, in order of creation. */
export const listAccounts = (
  db: Reader,
  { search = '', offset, limit }: { search?: string; offset: number; limit: number },
): Promise<AccountRow[]> =>
  db.all(`SELECT ${accountColumns} FROM users u WHERE ${matchesText} ORDER BY id LIMIT ?2 OFFSET ?3`, [
    likePattern(search),
    limit,
    offset,
  ])
export const countAccounts = async (db: Reader, search = ''): Promise<number> =>
  (await db.get<{ total: number }>(`SELECT count(*) AS total FROM users WHERE ${matchesText}`, [likePattern(search)]))!
    .total

export const readAccount = (db: Reader, id: number): Promise<AccountRow | undefined> =>
  db.get(`SELECT ${accountColumns} FROM users u WHERE id = ?`, [id])
/** The first super_admin other than this account. */
export const readOtherSuperAdmin = (db: Reader, id: number): Promise<UserRow | undefined> =>
  db.get(`SELECT ${userColumns} FROM users u WHERE role = 'super_admin' AND id <> ? ORDER BY id LIMIT 1`, [id])

/** Whether there is a super_admin other than this account. */
export const hasOtherSuperAdmin = async (db: Reader, id: number): Promise<boolean> =>
  (await db.get(`SELECT 1 FROM users WHERE role = 'super_admin' AND id <> ? LIMIT 1`, [id])) !== undefined

export async function insertUser(tx: Transaction, user: NewRow<typeof storedFields>): Promise<UserRow> {
  const id = await users.insert(tx, user)
  return { id, email: user.email, displayName: user.displayName, role: user.role }
}

export const updateUser = async (
  tx: Transaction,
  id: number,
  { displayName, role }: Pick<UserRow, 'displayName' | 'role'>,
): Promise<void> => {
  users.update(tx, id, { displayName, role })
  await noteRightsChanged(tx, id)
}
/** Replaces an account's password hash if it is still `from`. @returns whether it was replaced */
export const replacePasswordHash = async (tx: Transaction, id: number, from: string, to: string): Promise<boolean> =>
  (await tx.run('UPDATE users SET password_hash = ? WHERE id = ? AND password_hash = ?', [to, id, from])).changes === 1
export const setPasswordHash = async (tx: Transaction, id: number, passwordHash: string): Promise<void> =>
  users.update(tx, id, { passwordHash })

/** Tables whose rows belong to the account in `user_id`. */
const ownedTables = [
  'organization_members',
  'project_members',
  'project_visits',
  'api_keys',
  'credentials',
  'board_templates',
  'panel_states',
  'review_drafts',
  'user_settings',
  'inbox_notes',
  'inbox_marks',
  'webhooks',
]

/** Reassigns all records of the local operator, and the cards that it created, to the first account. */
export async function reassignToFirst(tx: Transaction, first: UserRow): Promise<void> {
  const [from, to] = [localOperator, first.id]
  await tx.run('UPDATE cards SET creator_id = ?, creator_name = ? WHERE creator_id = ?', [to, first.displayName, from])
  await tx.run(
    `UPDATE cards SET watch_choices = json_remove(json_set(watch_choices, '$."${to}"', json(watch_choices -> '$."${from}"')), '$."${from}"')
     WHERE watch_choices LIKE '%"${from}":%'`,
  )
  await tx.run(
    `UPDATE cards SET assignees = (SELECT json_group_array(json(iif(value ->> '$.userId' = '${from}', json_object('userId', '${to}', 'displayName', ?1), value)))
       FROM (SELECT value FROM json_each(cards.assignees) ORDER BY key)) WHERE id IN (SELECT card_id FROM card_assignees WHERE user_id = ${from})`,
    [first.displayName],
  )
  await tx.run(
    `UPDATE schedules SET template = json_set(template, '$.assigneeIds', (SELECT json_group_array(iif(value = ${from}, ${to}, value))
       FROM (SELECT value FROM json_each(schedules.template, '$.assigneeIds') ORDER BY key)))
     WHERE EXISTS (SELECT 1 FROM json_each(schedules.template, '$.assigneeIds') WHERE value = ${from})`,
  )
  await tx.run(
    `UPDATE gates SET approver_ids = (SELECT json_group_array(iif(value = ${from}, ${to}, value)) FROM json_each(gates.approver_ids))
     WHERE EXISTS (SELECT 1 FROM json_each(gates.approver_ids) WHERE value = ${from})`,
  )
  await tx.run('UPDATE reviews SET author_id = ? WHERE author_id IS NULL AND author_role IS NOT NULL', [to])
  await tx.run('UPDATE projects SET owner_id = ? WHERE owner_id = ?', [to, from])
  for (const table of ['webhooks', 'schedules'])
    await tx.run(`UPDATE ${table} SET maker_user_id = ? WHERE maker_user_id = ?`, [to, from])
  for (const table of ownedTables) await tx.run(`UPDATE ${table} SET user_id = ? WHERE user_id = ?`, [to, from])
}

/** Deletes an account with all its records. Reassign shared records first. */
export async function deleteUser(tx: Transaction, id: number): Promise<void> {
  for (const table of ownedTables) await tx.run(`DELETE FROM ${table} WHERE user_id = ?`, [id])
  await tx.run(
    `UPDATE cards SET watch_choices = json_remove(watch_choices, '$."${id}"') WHERE watch_choices LIKE '%"${id}":%'`,
  )
  await tx.run('DELETE FROM users WHERE id = ?', [id])
}
