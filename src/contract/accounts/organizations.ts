import * as v from 'valibot'
import { Email, Id, Name, refTo, Time } from '../fields.ts'
import { del, get, organizationAdmin, organizationMember, patch, post, put, user } from '../route.ts'

export const OrganizationRole = v.picklist(['admin', 'member'], 'must be admin or member')
export const Organization = v.object({
  id: Id,
  name: Name,
  role: v.nullable(OrganizationRole),
  defaultCredentialId: v.nullable(Id),
  createdAt: Time,
})
export const OrganizationMember = v.object({
  userId: Id,
  email: v.string(),
  displayName: v.string(),
  role: OrganizationRole,
})
const AddMember = v.strictObject({ email: Email, role: v.optional(OrganizationRole, 'member') })

export const organizations = {
  create: post('/api/organizations', {
    audited: { target: 'organization', id: 'id' },
    who: user,
    summary: 'Create an organization',
    details: 'The caller becomes its admin.',
    input: v.strictObject({ name: Name }),
    output: Organization,
    idempotent: true,
    status: 201,
  }),
  list: get('/api/organizations', {
    who: user,
    summary: "List the caller's organizations",
    output: v.array(Organization),
  }),
  get: get('/api/organizations/{id}', {
    notFound: { id: 'ORGANIZATION_NOT_FOUND' },
    who: organizationMember('id'),
    summary: 'Get an organization',
    output: Organization,
  }),
  update: patch('/api/organizations/{id}', {
    notFound: { id: 'ORGANIZATION_NOT_FOUND' },
    who: organizationAdmin('id'),
    summary: 'Rename an organization',
    input: v.strictObject({ name: v.optional(Name) }),
    output: Organization,
  }),
  delete: del('/api/organizations/{id}', {
    notFound: { id: 'ORGANIZATION_NOT_FOUND' },
    audited: { target: 'organization' },
    who: organizationAdmin('id'),
    fails: ['ORGANIZATION_HAS_PROJECTS'],
    summary: 'Delete an organization',
    details: 'It must have no projects.',
  }),
  listMembers: get('/api/organizations/{id}/members', {
    notFound: { id: 'ORGANIZATION_NOT_FOUND' },
    who: organizationMember('id'),
    summary: "List an organization's members",
    output: v.array(OrganizationMember),
  }),
  addMember: post('/api/organizations/{id}/members', {
    fails: ['USER_NOT_FOUND', 'ADDRESS_UNVERIFIED'],
    notFound: { id: 'ORGANIZATION_NOT_FOUND' },
    audited: { target: 'organization', detail: ['email', 'role'] },
    who: organizationAdmin('id'),
    summary: 'Add a user to an organization',
    input: AddMember,
    output: OrganizationMember,
    idempotent: true,
    status: 201,
  }),
  updateMember: patch('/api/organizations/{id}/members/{userId}', {
    fails: ['LAST_ORGANIZATION_ADMIN'],
    notFound: { id: 'ORGANIZATION_NOT_FOUND', userId: 'MEMBER_NOT_FOUND' },
    audited: { target: 'user', detail: ['organizationId=id', 'role'] },
    who: organizationAdmin('id'),
    summary: "Update a member's role",
    input: v.strictObject({ role: OrganizationRole }),
    output: OrganizationMember,
  }),
  removeMember: del('/api/organizations/{id}/members/{userId}', {
    notFound: { id: 'ORGANIZATION_NOT_FOUND', userId: 'MEMBER_NOT_FOUND' },
    audited: { target: 'user', detail: ['organizationId=id'] },
    who: organizationMember('id'),
    fails: ['LAST_ORGANIZATION_ADMIN'],
    summary: 'Remove a member',
    details: 'Members can remove themselves, and admins can remove anyone.',
  }),
  setCredential: put('/api/organizations/{orgId}/default-credential', {
    fails: ['CREDENTIAL_NOT_FOUND'],
    notFound: { orgId: 'ORGANIZATION_NOT_FOUND' },
    audited: { target: 'organization', detail: ['credentialId'] },
    who: organizationAdmin('orgId'),
    summary: "Set the default credential of an organization's projects",
    input: v.strictObject({ credentialId: v.nullable(refTo('CREDENTIAL_NOT_FOUND')) }),
    output: Organization,
  }),
}
