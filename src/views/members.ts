import type { InferOutput } from 'valibot'
import type { Invitation, NewInvitation, ProjectMember } from '../contract/projects/members.ts'
import type { InvitationRow } from '../store/projects/invitations.ts'
import type { MemberRow } from '../store/projects/members.ts'

type Member = InferOutput<typeof ProjectMember>

export const member = ({ userId, email, displayName, role, acceptedAt }: MemberRow): Member => ({
  userId: String(userId),
  email,
  displayName,
  role,
  acceptedAt,
  pending: false,
})

const invitation = ({
  email,
  role,
  invitedBy,
  createdAt,
  expiresAt,
}: InvitationRow): InferOutput<typeof Invitation> => ({
  userId: null,
  email,
  displayName: null,
  role,
  pending: true,
  invitedBy,
  createdAt,
  expiresAt,
})

export const memberOrInvitation = (row: MemberRow | InvitationRow): Member | InferOutput<typeof Invitation> =>
  'userId' in row ? member(row) : invitation(row)

/** An invitation with its link. The token is in the fragment, which browsers do not send to a server. */
export const newInvitation = (
  row: InvitationRow & { token: string },
  url: string,
): InferOutput<typeof NewInvitation> => ({
  ...invitation(row),
  token: row.token,
  link: `${url}/#invitation=${row.token}`,
})
