import type { ProjectRole } from '../../contract/route.ts'
import type { Reader, Transaction } from '../engine/database.ts'
import { noteRightsChanged } from '../accounts/rights.ts'
import { users } from '../accounts/users.ts'

/** A person with an explicit role in a project. The owner has no row and is always admin. */
export interface MemberRow {
  userId: number
  email: string
  displayName: string
  role: ProjectRole
  /** When this account accepted or first opened the project; null before that. */
  acceptedAt: string | null
}
const members = `SELECT m.user_id AS userId, ${users.columnsOf(['email', 'displayName'])}, m.role, w.accepted_at AS acceptedAt FROM project_members m
  JOIN users u ON u.id = m.user_id LEFT JOIN project_visits w ON w.user_id = m.user_id AND w.project_id = m.project_id`

/** A project's members by name. */
export const listMembers = (db: Reader, projectId: number): Promise<MemberRow[]> =>
  db.all(`${members} WHERE m.project_id = ? ORDER BY u.display_name COLLATE NOCASE, u.id`, [projectId])
export const readMember = (db: Reader, projectId: number, userId: number): Promise<MemberRow | undefined> =>
  db.get(`${members} WHERE m.project_id = ? AND m.user_id = ?`, [projectId, userId])

/** Sets an account's role in a project. */
export const setMember = async (
  tx: Transaction,
  projectId: number,
  userId: number,
  role: ProjectRole,
): Promise<void> => {
  await tx.run(
    'INSERT INTO project_members (project_id, user_id, role, created_at) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET role = excluded.role',
    [projectId, userId, role, tx.now],
  )
  await noteRightsChanged(tx, userId)
}

export const deleteMember = async (tx: Transaction, projectId: number, userId: number): Promise<void> => {
  await tx.run('DELETE FROM project_members WHERE project_id = ? AND user_id = ?', [projectId, userId])
  await noteRightsChanged(tx, userId)
}
