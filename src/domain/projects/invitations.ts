import { Problem } from '../../contract/errors.ts'
import { tokenPrefixOf, hashToken, createToken } from '../accounts/token.ts'
import type { Reader, Transaction } from '../../store/engine/database.ts'
import {
  deleteInvitation,
  findInvitation,
  giveInvited,
  putInvitation,
  readInvitation,
  type InvitationRow,
} from '../../store/projects/invitations.ts'
import { readMember, setMember } from '../../store/projects/members.ts'
import { acceptProject, readProject } from '../../store/projects/projects.ts'
import type { UserRow } from '../../store/accounts/users.ts'

const lifeMs = 14 * 86_400_000

/** A new invitation. `token` is shown only once, and suffices to accept the invitation. */
export interface NewInvitation extends InvitationRow {
  token: string
}

/** An address, the role that it is invited to, and the name of the person who invites it. */
type Invited = Pick<InvitationRow, 'email' | 'role' | 'invitedBy'>

/**
 * Invites an address for 14 days.
 * @throws Problem CONFLICT while an earlier invitation is open
 */
export async function invite(
  tx: Transaction,
  projectId: number,
  { email, role, invitedBy }: Invited,
): Promise<NewInvitation> {
  const present = await readInvitation(tx, projectId, email)
  if (present && present.expiresAt > tx.now)
    throw new Problem('CONFLICT', `${present.email} is already invited. To get a new link, renew the invitation.`)
  return saveInvitation(tx, projectId, { email: present?.email ?? email, role, invitedBy })
}

/** Replaces the token with a new one, valid for 14 days. @throws Problem INVITATION_NOT_FOUND */
export async function renew(
  tx: Transaction,
  projectId: number,
  { email, invitedBy }: Omit<Invited, 'role'>,
): Promise<NewInvitation> {
  const present = await readInvitation(tx, projectId, email)
  if (!present) throw new Problem('INVITATION_NOT_FOUND')
  return saveInvitation(tx, projectId, { ...present, invitedBy })
}

/** @throws Problem INVITATION_NOT_FOUND */
export async function withdraw(tx: Transaction, projectId: number, email: string): Promise<void> {
  if (!(await deleteInvitation(tx, projectId, email))) throw new Problem('INVITATION_NOT_FOUND')
}

/**
 * Makes an account a member by an invitation's token, once.
 * @returns the project
 * @throws Problem INVITATION_NOT_FOUND, INVITATION_EXPIRED, CONFLICT for an existing member; the invitation then stays open
 */
export async function accept(tx: Transaction, userId: number, token: string): Promise<number> {
  const { projectId, email, role } = await requireOpen(tx, token, new Date(tx.now))
  const project = (await readProject(tx, projectId))!
  if (project.ownerId === userId) throw new Problem('CONFLICT', `You own the project "${project.name}".`)
  if (await readMember(tx, projectId, userId))
    throw new Problem('CONFLICT', `You are already a member of the project "${project.name}".`)
  await setMember(tx, projectId, userId, role)
  await acceptProject(tx, userId, projectId)
  await deleteInvitation(tx, projectId, email)
  return projectId
}

/** The invitation of a token. @throws Problem INVITATION_NOT_FOUND, INVITATION_EXPIRED */
export async function requireOpen(
  db: Reader,
  token: string,
  now: Date,
): Promise<InvitationRow & { projectId: number }> {
  const invitation = tokenPrefixOf(token) === 'svc_in_' ? await findInvitation(db, hashToken(token)) : undefined
  if (!invitation)
    throw new Problem(
      'INVITATION_NOT_FOUND',
      'The invitation was not found. It was accepted, withdrawn or renewed. Ask for a new link.',
    )
  if (invitation.expiresAt <= now.toISOString()) throw new Problem('INVITATION_EXPIRED')
  return invitation
}

/** An invitation as its token shows it to anyone. @throws Problem INVITATION_NOT_FOUND, INVITATION_EXPIRED */
export async function describe(db: Reader, token: string, now: Date): Promise<InvitationRow & { projectName: string }> {
  const { projectId, ...invitation } = await requireOpen(db, token, now)
  return { ...invitation, projectName: (await readProject(db, projectId))!.name }
}

/**
 * Accepts all invitations to an account's address. Call this only if the address is verified: by an identity provider, or by the
 * administrator who creates the account.
 */
export const takeInvitations = (tx: Transaction, { id, email }: Pick<UserRow, 'id' | 'email'>): Promise<void> =>
  giveInvited(tx, id, email)

async function saveInvitation(
  tx: Transaction,
  projectId: number,
  { email, role, invitedBy }: Invited,
): Promise<NewInvitation> {
  const token = createToken('svc_in_')
  const expiresAt = new Date(Date.parse(tx.now) + lifeMs).toISOString()
  return {
    ...(await putInvitation(tx, projectId, { email, role, invitedBy, expiresAt, tokenHash: hashToken(token) })),
    token,
  }
}
