import type { Examples } from './exampleTypes.ts'
import type { Seed } from './seed.ts'

type AccountExamples = Pick<Examples, 'oauth' | 'auth' | 'users' | 'keys' | 'organizations'>

/** The inputs of the routes about apps, accounts, keys and organizations. */
export const accountExamples = ({
  projectId,
  keyId,
  memberId,
  organizationId,
  strangerEmail,
  signInId,
  credentialId,
}: Seed): AccountExamples => ({
  oauth: {
    resource: {},
    resourceOfMcp: {},
    server: {},
    register: { client_name: 'App', redirect_uris: ['https://app.example.org/callback'] },
    authorize: { client_id: 'none', state: 'some' },
    request: { request: 'none' },
    approve: { request: 'none', access: 'work', projectId },
    refuse: { request: 'none' },
    token: { grant_type: 'refresh_token', client_id: 'none', refresh_token: 'none' },
    revoke: { client_id: 'none', token: 'none' },
  },
  auth: {
    status: {},
    setup: { email: 'ada@example.org', password: 'correct horse', displayName: 'Ada' },
    login: { email: 'ada@example.org', password: 'correct horse' },
    register: { email: 'bob@example.org', password: 'battery staple' },
    logout: {},
    createTicket: {},
    redeemTicket: { ticket: 'svc_bt_none' },
    setPassword: { currentPassword: 'not the password', newPassword: 'battery staple' },
    sessions: {},
    endSession: { id: signInId },
    getSettings: {},
    setSettings: { enabled: true, registrationEnabled: true },
    me: {},
  },
  users: {
    search: { q: 'a' },
    list: { search: 'a', offset: 0, limit: 10 },
    create: { email: 'made@example.org', name: 'Made', role: 'admin' },
    update: { id: memberId, name: 'Changed', role: 'admin' },
    delete: { id: memberId },
    resetPassword: { id: memberId },
    checkDelete: { id: memberId },
  },
  keys: {
    list: {},
    create: { name: 'Cron', scope: 'project', projectId, permissions: ['cards.read'], expiresInDays: 1 },
    get: { id: keyId },
    revoke: { id: keyId },
    rotate: { id: keyId, graceSecs: 60 },
  },
  organizations: {
    create: { name: 'Club' },
    list: {},
    get: { id: organizationId },
    update: { id: organizationId, name: 'Team' },
    delete: { id: organizationId },
    listMembers: { id: organizationId },
    addMember: { id: organizationId, email: strangerEmail, role: 'admin' },
    updateMember: { id: organizationId, userId: memberId, role: 'admin' },
    removeMember: { id: organizationId, userId: memberId },
    setCredential: { orgId: organizationId, credentialId },
  },
})
