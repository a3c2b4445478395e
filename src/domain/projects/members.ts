import { Problem } from '../../contract/errors.ts'
import type { ProjectRole } from '../../contract/route.ts'
import type { Reader, Transaction } from '../../store/engine/database.ts'
import { listInvitations, type InvitationRow } from '../../store/projects/invitations.ts'
import { deleteMember, listMembers, readMember, setMember, type MemberRow } from '../../store/projects/members.ts'
import { forgetAcceptance } from '../../store/projects/projects.ts'
import { findUserByEmail } from '../../store/accounts/users.ts'
import type { Caller } from '../accounts/caller.ts'
import { invite, type NewInvitation } from './invitations.ts'
import * as projects from './projects.ts'

export interface MemberRef {
  projectId: number
  userId: number
}

/** A project's members, then its open invitations. */
export const list = async (db: Reader, projectId: number): Promise<Array<MemberRow | InvitationRow>> => [
  ...(await listMembers(db, projectId)),
  ...(await listInvitations(db, projectId)),
]

/**
 * Adds the account with an address as a member. Invites the address if there is no such account or its address is not verified.
 * @throws Problem PROJECT_NOT_FOUND, CONFLICT
 */
export async function add(
  tx: Transaction,
  projectId: number,
  { email, role, invitedBy }: { email: string; role: ProjectRole; invitedBy: string },
): Promise<MemberRow | NewInvitation> {
  const { ownerId } = await projects.find(tx, projectId)
  const user = await findUserByEmail(tx, email)
  if (user?.id === ownerId) throw new Problem('CONFLICT', `${user.email} owns the project.`)
  if (user && (await readMember(tx, projectId, user.id)))
    throw new Problem('CONFLICT', `${user.email} is already a member.`)
  if (!user || user.selfRegistered === 1) return invite(tx, projectId, { email: user?.email ?? email, role, invitedBy })
  await setMember(tx, projectId, user.id, role)
  return find(tx, { projectId, userId: user.id })
}

/** @throws Problem MEMBER_NOT_FOUND, CONFLICT for the owner */
export async function update(tx: Transaction, ref: MemberRef, role: ProjectRole): Promise<MemberRow> {
  const member = await find(tx, ref)
  await setMember(tx, ref.projectId, ref.userId, role)
  return { ...member, role }
}

/**
 * Ends a membership: the caller's own, or, as an admin of the project, any membership.
 * @throws Problem FORBIDDEN, MEMBER_NOT_FOUND, CONFLICT for the owner
 */
export async function remove(tx: Transaction, caller: Caller, isManager: boolean, ref: MemberRef): Promise<void> {
  if (!isManager && ref.userId !== caller.userId)
    throw new Problem('FORBIDDEN', 'Only an admin of the project can remove other members.')
  await find(tx, ref)
  await deleteMember(tx, ref.projectId, ref.userId)
  await forgetAcceptance(tx, ref.userId, ref.projectId)
}

async function find(db: Reader, { projectId, userId }: MemberRef): Promise<MemberRow> {
  if ((await projects.find(db, projectId)).ownerId === userId)
    throw new Problem('CONFLICT', 'The owner of a project is always its admin and cannot be removed.')
  const member = await readMember(db, projectId, userId)
  if (!member) throw new Problem('MEMBER_NOT_FOUND')
  return member
}
