import * as v from 'valibot'
import { Count, Email, Id, limit, Name, queryInteger, text, Time, UserRole } from '../fields.ts'
import { admin, del, get, patch, post, user } from '../route.ts'

/** An account as administrators see it. */
export const AdminUser = v.object({
  id: Id,
  email: v.string(),
  name: v.string(),
  role: UserRole,
  authProvider: v.picklist(['local', 'oidc']),
  avatarUrl: v.nullable(v.string()),
  isSuperAdmin: v.boolean(),
  /** Whether the address is verified to be the account's, by an administrator or by the identity provider. */
  addressVerified: v.boolean(),
  createdAt: Time,
})
const FoundUser = v.object({ id: Id, email: v.string(), displayName: v.string() })
const ListUsers = v.strictObject({
  search: v.optional(text(1, 200)),
  offset: v.optional(queryInteger(0), 0),
  limit: limit(50, 100),
})

export const users = {
  search: get('/api/users/search', {
    who: user,
    summary: 'Search users by name or email',
    input: v.strictObject({ q: text(1, 200) }),
    output: v.array(FoundUser),
  }),
  list: get('/api/admin/users', {
    who: admin,
    summary: 'List accounts',
    input: ListUsers,
    output: v.object({ users: v.array(AdminUser), total: Count }),
  }),
  create: post('/api/admin/users', {
    fails: ['EMAIL_TAKEN'],
    audited: { target: 'user', id: 'id', detail: ['email', 'role'] },
    who: admin,
    summary: 'Create an account',
    details: 'The generated password is shown once.',
    input: v.strictObject({ email: Email, name: Name, role: UserRole }),
    output: v.object({ user: AdminUser, generatedPassword: v.string() }),
    idempotent: false,
    status: 201,
  }),
  update: patch('/api/admin/users/{id}', {
    fails: ['LAST_SUPER_ADMIN'],
    notFound: { id: 'USER_NOT_FOUND' },
    audited: { target: 'user', detail: ['role', 'addressVerified'] },
    who: admin,
    summary: "Update an account's name or role, or mark its email address as verified",
    input: v.strictObject({
      name: v.optional(Name),
      role: v.optional(UserRole),
      addressVerified: v.optional(v.literal(true)),
    }),
    output: AdminUser,
  }),
  delete: del('/api/admin/users/{id}', {
    notFound: { id: 'USER_NOT_FOUND' },
    audited: { target: 'user' },
    who: admin,
    fails: ['CANNOT_DELETE_SELF', 'LAST_SUPER_ADMIN'],
    summary: 'Delete an account',
    details: 'Its projects are transferred to a super_admin.',
  }),
  resetPassword: post('/api/admin/users/{id}/reset-password', {
    fails: ['NOT_LOCAL_AUTH'],
    notFound: { id: 'USER_NOT_FOUND' },
    audited: { target: 'user' },
    who: admin,
    summary: "Reset an account's password",
    details: 'The generated password is shown once.',
    output: v.object({ generatedPassword: v.string() }),
  }),
  checkDelete: get('/api/admin/users/{id}/check-delete', {
    notFound: { id: 'USER_NOT_FOUND' },
    who: admin,
    summary: 'Count the projects that deleting an account would transfer',
    output: v.object({ ownedProjectsCount: Count }),
  }),
}
