import type { InferOutput } from 'valibot'
import type { Invitation, ProjectMember } from '../contract/members.ts'
import type { InvitationRow, MemberRow } from '../store/members.ts'

type Member = InferOutput<typeof ProjectMember>

export const member = ({ userId, email, displayName, role }: MemberRow): Member => ({
  userId: String(userId),
  email,
  displayName,
  role,
  pending: false,
})

const invitation = ({ email, role, createdAt }: InvitationRow): InferOutput<typeof Invitation> => ({
  userId: null,
  email,
  displayName: null,
  role,
  pending: true,
  createdAt,
})

export const memberOrInvitation = (row: MemberRow | InvitationRow): Member | InferOutput<typeof Invitation> =>
  'userId' in row ? member(row) : invitation(row)
