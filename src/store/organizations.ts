import type { Reader, Transaction } from './database.ts'

/** An organization and the account's role in it: null for one that the account does not belong to. */
export interface OrganizationRow { id: number; name: string; role: 'admin' | 'member' | null; createdAt: string }

const fields = 'o.id, o.name, m.role, o.created_at AS createdAt'

export const readOrganization = (db: Reader, userId: number, id: number): Promise<OrganizationRow | undefined> =>
  db.get(`SELECT ${fields} FROM organizations o LEFT JOIN organization_members m ON m.organization_id = o.id AND m.user_id = ? WHERE o.id = ?`, [userId, id])

/** The organizations that the account belongs to, by name. */
export const listOrganizations = (db: Reader, userId: number): Promise<OrganizationRow[]> =>
  db.all(`SELECT ${fields} FROM organization_members m JOIN organizations o ON o.id = m.organization_id WHERE m.user_id = ? ORDER BY o.name COLLATE NOCASE, o.id`, [userId])

export const insertOrganization = async (tx: Transaction, name: string): Promise<number> => (await tx.run('INSERT INTO organizations (name, created_at) VALUES (?, ?)', [name, tx.now])).lastId

export const insertOrganizationMember = async (tx: Transaction, organizationId: number, userId: number, role: 'admin' | 'member'): Promise<void> => {
  await tx.run('INSERT INTO organization_members (organization_id, user_id, role, created_at) VALUES (?, ?, ?, ?)', [organizationId, userId, role, tx.now])
}

export const renameOrganization = async (tx: Transaction, id: number, name: string): Promise<void> => { await tx.run('UPDATE organizations SET name = ? WHERE id = ?', [name, id]) }
export const hasProjects = async (db: Reader, organizationId: number): Promise<boolean> => await db.get('SELECT 1 FROM projects WHERE organization_id = ? LIMIT 1', [organizationId]) !== undefined

/** Deletes an organization, its memberships and the API keys of its scope. */
export const deleteOrganization = async (tx: Transaction, id: number): Promise<void> => { await tx.run('DELETE FROM organizations WHERE id = ?', [id]) }
