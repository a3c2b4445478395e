import * as v from 'valibot'
import { Email, Id, Time } from './fields.ts'
import { del, get, manager, patch, post, viewer } from './route.ts'

export const ProjectRole = v.picklist(['admin', 'member', 'viewer'], 'must be admin, member or viewer')
export const ProjectMember = v.object({
  userId: Id,
  email: v.string(),
  displayName: v.string(),
  role: ProjectRole,
  pending: v.literal(false),
})
/** An address without an account: whoever registers with it becomes a member. */
export const Invitation = v.object({
  userId: v.null(),
  email: v.string(),
  displayName: v.null(),
  role: ProjectRole,
  pending: v.literal(true),
  createdAt: Time,
})
const MemberOrInvitation = v.variant('pending', [ProjectMember, Invitation])

export const members = {
  list: get('/api/projects/{id}/members', {
    who: viewer(undefined, 'id'),
    summary: "List a project's members and pending invitations",
    output: v.array(MemberOrInvitation),
  }),
  add: post('/api/projects/{id}/members', {
    who: manager(undefined, 'id'),
    summary: 'Add a user, or invite an address without an account',
    input: v.strictObject({ email: Email, role: v.optional(ProjectRole, 'member') }),
    output: MemberOrInvitation,
    status: 201,
  }),
  update: patch('/api/projects/{projectId}/members/{userId}', {
    who: manager(),
    summary: "Change a member's role",
    input: v.strictObject({ role: ProjectRole }),
    output: ProjectMember,
  }),
  remove: del('/api/projects/{projectId}/members/{userId}', {
    who: viewer(),
    summary: 'Remove a member; anybody may leave, admins may remove others',
  }),
  removeInvitation: del('/api/projects/{projectId}/invitations/{email}', {
    who: manager(),
    summary: 'Withdraw an invitation',
  }),
}
