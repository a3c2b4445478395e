import type { Reader, Transaction } from '../engine/database.ts'
import { noteRightsChanged } from './rights.ts'
import { users } from './users.ts'

/** An organization and the account's role in it; null for a non-member. */
export interface OrganizationRow {
  id: number
  name: string
  role: 'admin' | 'member' | null
  defaultCredentialId: number | null
  createdAt: string
}
export interface OrganizationMemberRow {
  userId: number
  email: string
  displayName: string
  role: 'admin' | 'member'
}

const fields = 'o.id, o.name, m.role, o.default_credential_id AS defaultCredentialId, o.created_at AS createdAt'
const memberFields = `m.user_id AS userId, ${users.columnsOf(['email', 'displayName'])}, m.role`

export const readOrganization = (db: Reader, userId: number, id: number): Promise<OrganizationRow | undefined> =>
  db.get(
    `SELECT ${fields} FROM organizations o LEFT JOIN organization_members m ON m.organization_id = o.id AND m.user_id = ? WHERE o.id = ?`,
    [userId, id],
  )

/** The organizations that the account belongs to, by name. */
export const listOrganizations = (db: Reader, userId: number): Promise<OrganizationRow[]> =>
  db.all(
    `SELECT ${fields} FROM organization_members m JOIN organizations o ON o.id = m.organization_id WHERE m.user_id = ? ORDER BY o.name COLLATE NOCASE, o.id`,
    [userId],
  )

export const insertOrganization = async (tx: Transaction, name: string): Promise<number> =>
  (await tx.run('INSERT INTO organizations (name, created_at) VALUES (?, ?)', [name, tx.now])).lastId

/** The people of an organization, by name. */
export const listOrganizationMembers = (db: Reader, organizationId: number): Promise<OrganizationMemberRow[]> =>
  db.all(
    `SELECT ${memberFields} FROM organization_members m JOIN users u ON u.id = m.user_id WHERE m.organization_id = ? ORDER BY u.display_name COLLATE NOCASE, u.id`,
    [organizationId],
  )

export const readOrganizationMember = (
  db: Reader,
  organizationId: number,
  userId: number,
): Promise<OrganizationMemberRow | undefined> =>
  db.get(
    `SELECT ${memberFields} FROM organization_members m JOIN users u ON u.id = m.user_id WHERE m.organization_id = ? AND m.user_id = ?`,
    [organizationId, userId],
  )

/** Whether an account other than this one is an admin of the organization. */
export const hasOtherOrganizationAdmin = async (db: Reader, organizationId: number, userId: number): Promise<boolean> =>
  (await db.get(
    `SELECT 1 FROM organization_members WHERE organization_id = ? AND role = 'admin' AND user_id <> ? LIMIT 1`,
    [organizationId, userId],
  )) !== undefined

/** The organizations of which this account is the only admin. */
export const organizationsManagedAlone = async (db: Reader, userId: number): Promise<number[]> =>
  (
    await db.all<{ id: number }>(
      `SELECT m.organization_id AS id FROM organization_members m WHERE m.user_id = ?1 AND m.role = 'admin'
   AND NOT EXISTS (SELECT 1 FROM organization_members o WHERE o.organization_id = m.organization_id AND o.role = 'admin' AND o.user_id <> ?1)`,
      [userId],
    )
  ).map(({ id }) => id)

/** Sets an account's role in an organization. */
export const setOrganizationRole = async (
  tx: Transaction,
  organizationId: number,
  userId: number,
  role: 'admin' | 'member',
): Promise<void> => {
  await tx.run(
    'INSERT INTO organization_members (organization_id, user_id, role, created_at) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET role = excluded.role',
    [organizationId, userId, role, tx.now],
  )
  await noteRightsChanged(tx, userId)
}

export const deleteOrganizationMember = async (
  tx: Transaction,
  organizationId: number,
  userId: number,
): Promise<void> => {
  await tx.run('DELETE FROM organization_members WHERE organization_id = ? AND user_id = ?', [organizationId, userId])
  await noteRightsChanged(tx, userId)
}

export const renameOrganization = async (tx: Transaction, id: number, name: string): Promise<void> => {
  await tx.run('UPDATE organizations SET name = ? WHERE id = ?', [name, id])
}
export const hasProjects = async (db: Reader, organizationId: number): Promise<boolean> =>
  (await db.get('SELECT 1 FROM projects WHERE organization_id = ? LIMIT 1', [organizationId])) !== undefined

/** Deletes an organization, its memberships and the API keys of its scope. */
export const deleteOrganization = async (tx: Transaction, id: number): Promise<void> => {
  await tx.run('DELETE FROM organizations WHERE id = ?', [id])
}
