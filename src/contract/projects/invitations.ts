import * as v from 'valibot'
import { text } from '../fields.ts'
import { Project } from './projects.ts'
import { post, user } from '../route.ts'

/** The token of an invitation, which its link contains. */
export const InvitationToken = text(1, 200)

export const invitations = {
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
