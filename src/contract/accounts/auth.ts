import * as v from 'valibot'
import { AccountId, Email, Id, Name, text, Time, UserRole } from '../fields.ts'
import { InvitationToken } from '../projects/invitations.ts'
import { anyone, anyToken, del, get, permissions, post, put, superAdmin, user } from '../route.ts'

export const Me = v.object({
  id: AccountId,
  email: v.string(),
  displayName: v.string(),
  role: UserRole,
})
/**
 * The kind and the permissions of a token. `permissions` is null if the token has all permissions of its account; `none` means no token,
 * with authentication off.
 */
export const TokenInfo = v.object({
  kind: v.picklist(['sign-in', 'key', 'agent', 'local', 'none']),
  name: v.nullable(v.string()),
  scope: v.picklist(['server', 'organization', 'project', 'card']),
  organizationId: v.nullable(Id),
  projectId: v.nullable(Id),
  cardId: v.nullable(Id),
  permissions: v.nullable(v.array(v.picklist(permissions))),
  expiresAt: v.nullable(Time),
})
/** An agent's token has no account: its `id` is null. */
export const WhoAmI = v.object({ ...Me.entries, id: v.nullable(Me.entries.id), token: TokenInfo })
export const SignedIn = v.object({ token: v.string(), user: Me })
/** 8 to 1,024 characters. The password is hashed verbatim, without normalization. */
const Password = text(8, 1024)
/** A sign-in of an account. `lastUsedAt` is accurate to the minute. `client` is null if the request did not name it. */
export const SignIn = v.object({
  id: Id,
  createdAt: Time,
  lastUsedAt: Time,
  expiresAt: Time,
  address: v.string(),
  client: v.nullable(v.string()),
  current: v.boolean(),
})
const AuthSettings = v.object({ enabled: v.boolean(), registrationEnabled: v.boolean() })
const SignUp = { email: Email, password: Password, displayName: v.optional(Name) }

export const auth = {
  status: get('/api/settings/auth-status', {
    who: anyone,
    summary: 'Get the available sign-in methods',
    output: v.object({
      authEnabled: v.boolean(),
      oidcEnabled: v.boolean(),
      hasUsers: v.boolean(),
      registrationEnabled: v.boolean(),
    }),
  }),
  setup: post('/api/auth/setup', {
    audited: { target: 'user', id: 'user.id' },
    who: anyone,
    fails: ['SETUP_CODE_REQUIRED', 'SETUP_ALREADY_DONE'],
    rateLimit: 'signIn',
    summary: 'Create the first account, a super_admin',
    input: v.strictObject({ ...SignUp, setupCode: v.optional(text(1, 100)) }),
    output: SignedIn,
    idempotent: false,
    status: 201,
  }),
  login: post('/api/auth/login', {
    audited: { target: 'user', id: 'user.id' },
    who: anyone,
    fails: ['INVALID_CREDENTIALS'],
    rateLimit: 'signIn',
    summary: 'Sign in',
    input: v.strictObject({ email: Email, password: text(1, 1024) }),
    output: SignedIn,
  }),
  register: post('/api/auth/register', {
    audited: { target: 'user', id: 'user.id' },
    who: anyone,
    fails: ['REGISTRATION_DISABLED', 'EMAIL_TAKEN', 'INVITATION_NOT_FOUND'],
    rateLimit: 'signIn',
    summary: 'Register an account, and accept an invitation if one is given',
    input: v.strictObject({ ...SignUp, invitation: v.optional(InvitationToken) }),
    output: SignedIn,
    idempotent: false,
    status: 201,
  }),
  logout: post('/api/auth/logout', {
    audited: { target: 'sign-in', id: 'signInId' },
    who: user,
    summary: 'Sign out by revoking the token of the request',
  }),
  createTicket: post('/api/auth/tickets', {
    audited: { target: 'ticket', named: 'browser', detail: ['expiresAt'] },
    who: user,
    summary: 'Create a sign-in ticket that signs a browser in as the caller',
    details: 'The ticket works once, within a minute.',
    output: v.object({ ticket: v.string(), expiresAt: Time }),
    idempotent: false,
    status: 201,
  }),
  redeemTicket: post('/api/auth/tickets/redeem', {
    audited: { target: 'user', id: 'user.id' },
    who: anyone,
    fails: ['INVALID_CREDENTIALS'],
    summary: 'Exchange a sign-in ticket for a token',
    input: v.strictObject({ ticket: text(1, 200) }),
    output: SignedIn,
  }),
  setPassword: put('/api/auth/password', {
    audited: { target: 'user', id: 'userId' },
    who: user,
    fails: ['INVALID_CREDENTIALS', 'NOT_LOCAL_AUTH'],
    rateLimit: 'signIn',
    summary: "Update the caller's password",
    details: 'All other sign-ins of the account are revoked.',
    input: v.strictObject({ currentPassword: text(1, 1024), newPassword: Password }),
  }),
  sessions: get('/api/auth/sessions', {
    who: user,
    summary: "List the caller's sign-ins, newest first",
    output: v.array(SignIn),
  }),
  endSession: del('/api/auth/sessions/{id}', {
    notFound: { id: 'SIGN_IN_NOT_FOUND' },
    audited: { target: 'sign-in' },
    who: user,
    summary: "Revoke one of the caller's sign-ins",
  }),
  getSettings: get('/api/settings/auth', {
    who: superAdmin,
    summary: 'Get the authentication settings',
    output: AuthSettings,
  }),
  setSettings: put('/api/settings/auth', {
    audited: { target: 'settings', named: 'auth', detail: ['enabled', 'registrationEnabled'] },
    who: superAdmin,
    summary: 'Update the authentication settings',
    input: v.strictObject({ enabled: v.boolean(), registrationEnabled: v.optional(v.boolean()) }),
    output: AuthSettings,
  }),
  me: get('/api/auth/me', {
    who: anyToken,
    summary: "Get the account, permissions and expiration of the request's token",
    output: WhoAmI,
  }),
}
