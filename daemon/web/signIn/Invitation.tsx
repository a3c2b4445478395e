import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { useLoad } from '../app/load.ts'
import { client } from '../app/session.ts'
import { formatTime } from '../ui/Time.tsx'

type Invitation = Output<Contract['invitations']['lookup']>

/** Reads the invitation of a token, or nothing without a token. */
export const useInvitation = (token: string | undefined) =>
  useLoad(async () => (token === undefined ? null : client.invitations.lookup({ token })), [token])

const roles = {
  viewer: 'You can then see its boards, and the work of its agents.',
  member: 'You can then work with its cards and agents.',
  admin: 'You can then work with its cards and agents, and manage the project.',
}

/** States who invites to which project, and what the role allows. */
export const InvitationText = ({
  invitation: { projectName, invitedBy, role, expiresAt },
}: {
  invitation: Invitation
}) => (
  <p>
    <strong>{invitedBy}</strong> invites you to the project <strong>{projectName}</strong> as {role}. {roles[role]} The
    invitation expires on {formatTime(expiresAt, 'day')}.
  </p>
)
