import * as v from 'valibot'
import { AccountId, Email, Id, Time } from '../fields.ts'
import { ofProject } from '../notFound.ts'
import { del, get, manager, patch, post, viewer } from '../route.ts'

export const ProjectRole = v.picklist(['admin', 'member', 'viewer'], 'must be admin, member or viewer')
export const ProjectMember = v.object({
  userId: Id,
  email: v.string(),
  displayName: v.string(),
  role: ProjectRole,
  /** When this member accepted the project or first opened it. Until then, the member's clients do not select the project by its folder. */
  acceptedAt: v.nullable(Time),
  pending: v.literal(false),
})
/**
 * An address without an account, or with one whose address is not verified. The invitation is accepted through its link, or by a
 * sign-in that verifies the address.
 */
export const Invitation = v.object({
  userId: v.null(),
  email: v.string(),
  displayName: v.null(),
  role: ProjectRole,
  pending: v.literal(true),
  /** The name of the person who created the invitation or its latest link. */
  invitedBy: v.string(),
  createdAt: Time,
  expiresAt: Time,
})
/** Shown only once. The link, or the token in it, suffices to accept the invitation. */
export const NewInvitation = v.object({ ...Invitation.entries, token: v.string(), link: v.string() })
const MemberOrInvitation = v.variant('pending', [ProjectMember, Invitation])

/** A person whom cards can be assigned to: the owner, a member, or a member of the organization. */
const Person = v.object({ userId: AccountId, displayName: v.string() })

export const members = {
  people: get('/api/projects/{projectId}/people', {
    notFound: ofProject,
    who: viewer('cards.read'),
    summary: 'List the users that cards can be assigned to',
    output: v.array(Person),
  }),
  list: get('/api/projects/{id}/members', {
    notFound: { id: 'PROJECT_NOT_FOUND' },
    who: viewer(undefined, 'id'),
    summary: "List a project's members and pending invitations",
    output: v.array(MemberOrInvitation),
  }),
  add: post('/api/projects/{id}/members', {
    notFound: { id: 'PROJECT_NOT_FOUND' },
    audited: { target: 'project', detail: ['email', 'role'] },
    who: manager(undefined, 'id'),
    summary: 'Add a member to a project',
    details: 'An address without a verified account receives an invitation.',
    input: v.strictObject({ email: Email, role: v.optional(ProjectRole, 'member') }),
    output: v.variant('pending', [ProjectMember, NewInvitation]),
    idempotent: false,
    status: 201,
  }),
  update: patch('/api/projects/{projectId}/members/{userId}', {
    notFound: { ...ofProject, userId: 'MEMBER_NOT_FOUND' },
    audited: { target: 'user', detail: ['role'] },
    who: manager(),
    summary: "Update a member's role",
    input: v.strictObject({ role: ProjectRole }),
    output: ProjectMember,
  }),
  remove: del('/api/projects/{projectId}/members/{userId}', {
    notFound: { ...ofProject, userId: 'MEMBER_NOT_FOUND' },
    audited: { target: 'user' },
    who: viewer(),
    summary: 'Remove a member',
    details: 'Members can remove themselves, and admins can remove anyone.',
  }),
  renewInvitation: post('/api/projects/{projectId}/invitations/{email}/renew', {
    notFound: { ...ofProject, email: 'INVITATION_NOT_FOUND' },
    audited: { target: 'invitation' },
    who: manager(),
    summary: 'Create a new link for an invitation',
    details: 'The previous link expires.',
    output: NewInvitation,
    idempotent: false,
    status: 201,
  }),
  removeInvitation: del('/api/projects/{projectId}/invitations/{email}', {
    notFound: { ...ofProject, email: 'INVITATION_NOT_FOUND' },
    audited: { target: 'invitation' },
    who: manager(),
    summary: 'Delete an invitation',
  }),
}
