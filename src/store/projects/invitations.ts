import type { ProjectRole } from '../../contract/route.ts'
import type { Reader, Transaction } from '../engine/database.ts'

/** A role in a project that an address is invited to. */
export interface InvitationRow {
  email: string
  role: ProjectRole
  /** The name of the person who created or renewed the invitation. */
  invitedBy: string
  createdAt: string
  expiresAt: string
}

const fields = 'email, role, invited_by AS invitedBy, created_at AS createdAt, expires_at AS expiresAt'

/** A project's invitations by address. */
export const listInvitations = (db: Reader, projectId: number): Promise<InvitationRow[]> =>
  db.all(`SELECT ${fields} FROM invitations WHERE project_id = ? ORDER BY email`, [projectId])

export const readInvitation = (db: Reader, projectId: number, email: string): Promise<InvitationRow | undefined> =>
  db.get(`SELECT ${fields} FROM invitations WHERE project_id = ? AND email = ?`, [projectId, email])

/** The invitation whose token has this hash. */
export const findInvitation = (
  db: Reader,
  tokenHash: string,
): Promise<(InvitationRow & { projectId: number }) | undefined> =>
  db.get(`SELECT ${fields}, project_id AS projectId FROM invitations WHERE token_hash = ?`, [tokenHash])

/** Stores an invitation, replacing the address's earlier one in the project. */
export async function putInvitation(
  tx: Transaction,
  projectId: number,
  { email, role, invitedBy, expiresAt, tokenHash }: Omit<InvitationRow, 'createdAt'> & { tokenHash: string },
): Promise<InvitationRow> {
  await tx.run(
    `INSERT INTO invitations (project_id, email, role, invited_by, token_hash, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET role = excluded.role, invited_by = excluded.invited_by, token_hash = excluded.token_hash, created_at = excluded.created_at, expires_at = excluded.expires_at`,
    [projectId, email, role, invitedBy, tokenHash, tx.now, expiresAt],
  )
  return { email, role, invitedBy, createdAt: tx.now, expiresAt }
}

/** Deletes an invitation, and returns whether there was one. */
export const deleteInvitation = async (tx: Transaction, projectId: number, email: string): Promise<boolean> =>
  (await tx.run('DELETE FROM invitations WHERE project_id = ? AND email = ?', [projectId, email])).changes === 1

/** Deletes a project's invitations. */
export const deleteInvitations = async (tx: Transaction, projectId: number): Promise<void> => {
  await tx.run('DELETE FROM invitations WHERE project_id = ?', [projectId])
}

/**
 * Converts the valid invitations of an address to memberships of the account, except for projects that it owns or in which it
 * has a role.
 */
export async function giveInvited(tx: Transaction, userId: number, email: string): Promise<void> {
  await tx.run(
    `INSERT INTO project_members (project_id, user_id, role, created_at) SELECT i.project_id, ?1, i.role, ?2 FROM invitations i JOIN projects p ON p.id = i.project_id
     WHERE i.email = ?3 AND i.expires_at > ?2 AND p.owner_id <> ?1 ON CONFLICT DO NOTHING`,
    [userId, tx.now, email],
  )
  await tx.run('DELETE FROM invitations WHERE email = ?', [email])
}
