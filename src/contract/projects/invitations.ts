import * as v from 'valibot'
import { text, Time } from '../fields.ts'
import { ProjectRole } from './members.ts'
import { Project } from './projects.ts'
import { anyone, post, user } from '../route.ts'

/** The token of an invitation, which its link contains. */
export const InvitationToken = text(1, 200)

export const invitations = {
  lookup: post('/api/invitations/lookup', {
    who: anyone,
    fails: ['INVITATION_NOT_FOUND', 'INVITATION_EXPIRED'],
    summary: 'Show the invitation of a token',
    details: 'The token suffices, because people look at an invitation before they have an account.',
    input: v.strictObject({ token: InvitationToken }),
    output: v.object({
      projectName: v.string(),
      /** The name of the person who created the invitation or its latest link. */
      invitedBy: v.string(),
      role: ProjectRole,
      /** The invited address. */
      email: v.string(),
      expiresAt: Time,
    }),
  }),
  accept: post('/api/invitations/accept', {
    audited: { target: 'project', id: 'row.id', detail: ['role'] },
    who: user,
    fails: ['INVITATION_NOT_FOUND', 'INVITATION_EXPIRED'],
    summary: 'Accept an invitation to a project',
    details: 'Each invitation can be accepted once.',
    input: v.strictObject({ token: InvitationToken }),
    output: Project,
  }),
}
