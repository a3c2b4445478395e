import type { ProjectRole } from '../contract/route.ts'
import type { Reader, Transaction } from './database.ts'
import { noteRightsChanged } from './rights.ts'

/** Somebody with a role of their own in a project. Its owner has none: the owner is always its admin. */
export interface MemberRow {
  userId: number
  email: string
  displayName: string
  role: ProjectRole
}
/** An address without an account; whoever comes with it becomes a member. */
export interface InvitationRow {
  email: string
  role: ProjectRole
  createdAt: string
}

const memberFields = 'm.user_id AS userId, u.email, u.display_name AS displayName, m.role'
const invitationFields = 'email, role, created_at AS createdAt'

/** A project's members by name. */
export const listMembers = (db: Reader, projectId: number): Promise<MemberRow[]> =>
  db.all(
    `SELECT ${memberFields} FROM project_members m JOIN users u ON u.id = m.user_id WHERE m.project_id = ? ORDER BY u.display_name COLLATE NOCASE, u.id`,
    [projectId],
  )
export const readMember = (db: Reader, projectId: number, userId: number): Promise<MemberRow | undefined> =>
  db.get(
    `SELECT ${memberFields} FROM project_members m JOIN users u ON u.id = m.user_id WHERE m.project_id = ? AND m.user_id = ?`,
    [projectId, userId],
  )

/** Gives an account a role in a project, whether or not it has one there. */
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

/** A project's invitations by address. */
export const listInvitations = (db: Reader, projectId: number): Promise<InvitationRow[]> =>
  db.all(`SELECT ${invitationFields} FROM invitations WHERE project_id = ? ORDER BY email`, [projectId])
export const readInvitation = (db: Reader, projectId: number, email: string): Promise<InvitationRow | undefined> =>
  db.get(`SELECT ${invitationFields} FROM invitations WHERE project_id = ? AND email = ?`, [projectId, email])

export const insertInvitation = async (
  tx: Transaction,
  projectId: number,
  { email, role }: { email: string; role: ProjectRole },
): Promise<InvitationRow> => {
  await tx.run('INSERT INTO invitations (project_id, email, role, created_at) VALUES (?, ?, ?, ?)', [
    projectId,
    email,
    role,
    tx.now,
  ])
  return { email, role, createdAt: tx.now }
}

/** Deletes an invitation, and tells whether there was one. */
export const deleteInvitation = async (tx: Transaction, projectId: number, email: string): Promise<boolean> =>
  (await tx.run('DELETE FROM invitations WHERE project_id = ? AND email = ?', [projectId, email])).changes === 1

/** Turns every invitation of an address into a membership of the account, except where the account owns the project or has a role already. */
export async function acceptInvitations(tx: Transaction, userId: number, email: string): Promise<void> {
  await tx.run(
    `INSERT INTO project_members (project_id, user_id, role, created_at) SELECT i.project_id, ?1, i.role, ?2 FROM invitations i JOIN projects p ON p.id = i.project_id
     WHERE i.email = ?3 AND p.owner_id <> ?1 ON CONFLICT DO NOTHING`,
    [userId, tx.now, email],
  )
  await tx.run('DELETE FROM invitations WHERE email = ?', [email])
}
