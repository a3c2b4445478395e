import { randomUUID } from 'node:crypto'
import { insertUser } from '../../../src/store/accounts/users.ts'
import type { UserRole } from '../../../src/contract/fields.ts'
import type { ErrorCode } from '../../../src/contract/errors.ts'
import type { Person, Place, World } from './authorizationWorld.ts'
import { exampleOf, type Row } from './examples.ts'
import { fileBody, hooked, invitedElsewhere, monitored, refined } from './seed.ts'

type Input = Record<string, unknown>

/** The inputs of lines of the table whose route has a suffix. */
const special: Record<string, (place: Place, world: World) => Input> = {
  'projects.create': () => ({ organizationId: undefined }),
  'projects.create in an organization': () => ({}),
  'keys.create': () => ({ scope: 'server', projectId: undefined }),
  'keys.create for a project': () => ({}),
  'boards.create': () => ({ templateId: undefined }),
  'keys.create for an organization': ({ organizationId }) => ({
    scope: 'organization',
    organizationId,
    projectId: undefined,
  }),
  'templates.update that is built in': () => ({ id: '1' }),
  'templates.delete that is built in': () => ({ id: '1' }),
  'users.create a super_admin': () => ({ role: 'super_admin' }),
  'users.update to a super_admin': () => ({ role: 'super_admin' }),
  'users.update of a super_admin': (_, { people }) => ({ id: people.super.id }),
  'users.delete of a super_admin': (_, { people }) => ({ id: people.super.id }),
  'users.resetPassword of a super_admin': (_, { people }) => ({ id: people.super.id }),
  'users.checkDelete of a super_admin': (_, { people }) => ({ id: people.super.id }),
  'organizations.setCredential': () => ({ credentialId: null }),
  // One check per agent runs at a time, and all callers request one concurrently.
  'agents.check': () => ({ agent: 'nobody' }),
  // A key also needs cards.move for it.
  'agents.merge': () => ({ moveToDone: false }),
  'inbox.list': () => ({ projectId: undefined }),
  'inbox.mark': () => ({ projectId: undefined }),
  'settings.setAgents': () => ({ agent: null, model: null, mode: null, effort: null }),
  'webhooks.update': () => ({ events: undefined, url: undefined }),
  'filesystem.browse': () => ({ path: undefined }),
  'auth.login': (_, { people, password }) => ({ email: people.stranger.email, password }),
}

/** The input of a request for the records of this place. */
export const inputOf = (line: string, row: Row, place: Place, world: World): Input => ({
  ...exampleOf(row, place),
  ...special[line]?.(place, world),
})

/** The headers of a line's request, which set its origin. */
export const headersOf = (line: string): Record<string, string> =>
  line.endsWith(' from elsewhere') ? { 'x-forwarded-for': '203.0.113.7' } : {}

/** The sender of an accepted request, with its rights and place. A key's owner acts for the key. */
export interface Sending {
  world: World
  place: Place
  person: Person
}

/** Inputs that an accepted request consumes, so that each request gets new ones. Without `bearer` the caller's own token is sent. */
export const supplies: Record<string, (sending: Sending) => Promise<Input & { bearer?: string }>> = {
  'auth.register': async () => ({ email: newEmail() }),
  'auth.setPassword': async ({ world }) => {
    const { token: bearer } = await world.board.as().auth.register({ email: newEmail(), password: world.password })
    return { bearer, currentPassword: world.password, newPassword: 'another long password' }
  },
  'auth.endSession': async ({ world, person }) => {
    await world.board.as().auth.login({ email: person.email, password: world.password })
    return { id: (await person.client.auth.sessions())[0]!.id }
  },
  'auth.logout': async ({ world, person }) =>
    person === world.people.local
      ? {}
      : { bearer: (await world.board.as().auth.login({ email: person.email, password: world.password })).token },
  'users.create': async () => ({ email: newEmail() }),
  'users.create a super_admin': async () => ({ email: newEmail() }),
  'users.update': newUser('user'),
  'users.update to a super_admin': newUser('user'),
  'users.delete': newUser('user'),
  'users.resetPassword': newUser('user'),
  'users.update of a super_admin': newUser('super_admin'),
  'users.delete of a super_admin': newUser('super_admin'),
  'users.resetPassword of a super_admin': newUser('super_admin'),
  'keys.get': async ({ person }) => ({ id: person.own.keyId }),
  'keys.revoke': newKey,
  'keys.rotate': newKey,
  'templates.update': async ({ person }) => ({ id: person.own.templateId }),
  'templates.delete': async ({ person }) => ({
    id: (await person.client.templates.create({ name: 'Brief', columns: [] })).id,
  }),
  'credentials.get': ownCredential,
  'credentials.update': ownCredential,
  'credentials.verify': ownCredential,
  'credentials.usage': ownCredential,
  'credentials.oauthStatus': ownCredential,
  'credentials.delete': async ({ person }) => ({
    id: (await person.client.credentials.create({ name: 'Brief', provider: 'openai', apiKey: 'sk-brief-0123456789' }))
      .id,
  }),
  'agentProfiles.create': async () => ({ name: `made-${randomUUID()}`, credentialId: null }),
  'agentProfiles.update': newProfile,
  'agentProfiles.delete': newProfile,
  'projects.reorder': async ({ person }) => ({ ids: (await person.client.projects.list()).map(({ id }) => id) }),
  'projects.delete': newProject,
  'organizations.addMember': async sending => ({ email: (await insert(sending, 'user')).email }),
  'organizations.removeMember': async sending => {
    const { id, email } = await insert(sending, 'user')
    await sending.world.people.super.client.organizations.addMember({ id: sending.place.organizationId, email })
    return { userId: id }
  },
  'members.add': async () => ({ email: newEmail() }),
  'members.remove': async sending => {
    const { id, email } = await insert(sending, 'user')
    await sending.place.client.members.add({ id: sending.place.projectId, email })
    return { userId: id }
  },
  'invitations.lookup': async ({ world }) => ({ token: await invitedElsewhere(world.board) }),
  'invitations.accept': async ({ world }) => ({ token: await invitedElsewhere(world.board) }),
  'members.renewInvitation': async ({ place }) => {
    const email = newEmail()
    await place.client.members.add({ id: place.projectId, email })
    return { email }
  },
  'members.removeInvitation': async ({ place }) => {
    const email = newEmail()
    await place.client.members.add({ id: place.projectId, email })
    return { email }
  },
  'boards.reorder': async ({ place: { client, projectId } }) => ({
    ids: (await client.boards.list({ projectId })).map(({ id }) => id),
  }),
  'boards.delete': async ({ place: { client, projectId } }) => ({
    boardId: (await client.boards.create({ projectId, name: 'Brief' })).id,
  }),
  'columns.reorder': async ({ place: { client, projectId, boardId } }) => ({
    ids: (await client.columns.list({ projectId, boardId })).map(({ id }) => id),
  }),
  'gates.reorder': async ({ place: { client, projectId } }) => ({
    ids: (await client.gates.list({ projectId })).map(({ id }) => id),
  }),
  'gates.delete': newGate,
  'scripts.reorder': async ({ place: { client, projectId } }) => ({
    ids: (await client.scripts.list({ projectId })).map(({ id }) => id),
  }),
  'scripts.run': newScript,
  'scripts.delete': newScript,
  'schedules.delete': newSchedule,
  'columns.delete': newColumn,
  'columns.clear': newColumn,
  'cards.delete': newCard,
  // This server has no agents.
  'settings.setAgentSlots': async () => ({ agents: {} }),
  'budgets.create': async sending => ({ scope: 'card', scopeId: (await newCard(sending)).cardId }),
  'budgets.update': newBudget,
  'budgets.delete': newBudget,
  'cards.activate': newCard,
  'cards.complete': newCard,
  'cards.archive': newCard,
  'cards.attachWorktree': newCard,
  'external.archive': newCard,
  'cards.restore': async sending => changed(sending, 'delete'),
  'cards.unarchive': async sending => changed(sending, 'archive'),
  'cards.detachWorktree': async sending => {
    const { cardId } = await newCard(sending)
    await sending.place.client.cards.attachWorktree({
      projectId: sending.place.projectId,
      cardId,
      path: sending.place.worktree,
    })
    return { cardId }
  },
  'monitors.deleteProject': async ({ world, place: { projectId, archivedCardId: cardId } }) => ({
    monitorId: await monitored(world.board, { projectId, cardId }),
  }),
  'webhooks.delete': ({ place: { client, projectId } }) => hooked(client, projectId),
  'backups.download': newBackup,
  'backups.delete': newBackup,
  'preSessions.accept': newPreSession,
  'preSessions.cancel': newPreSession,
  'panelStates.delete': async sending => {
    const { cardId } = await newCard(sending)
    await sending.person.client.panelStates.set({ projectId: sending.place.projectId, [cardId]: {} })
    return { cardId }
  },
  'agents.token': async ({ place }) => ({ cardId: place.activeCardId }),
  'comments.update': newComment,
  'comments.delete': newComment,
  'attachments.delete': async ({ world, place: { projectId, cardId, token } }) => {
    const attached = await world.board.request('POST', `/api/projects/${projectId}/cards/${cardId}/attachments`, {
      token,
      ...fileBody(),
    })
    return { attachmentId: attached.body.data.id }
  },
}

/** Error codes for callers whom a route rejects for reasons other than the role. */
export const refusals: Record<string, ErrorCode> = {
  'filesystem.browse in a folder': 'PATH_OUTSIDE_ROOTS',
  'filesystem.read': 'PATH_OUTSIDE_ROOTS',
}

/** Error codes of requests that are authorized, but cannot succeed. */
export const landings: Record<string, string> = {
  'backups.upload': 'INVALID_BACKUP',
  'backups.restore': 'BACKUP_NOT_FOUND',
  'auth.setup': 'SETUP_ALREADY_DONE',
  'auth.logout local': 'CONFLICT',
  'oidc.test': 'OIDC_NOT_CONFIGURED',
  'oidc.login': 'OIDC_NOT_CONFIGURED',
  'oidc.callback': 'OIDC_SIGN_IN_UNKNOWN',
  'reviews.changedFile': 'FILE_NOT_FOUND',
  'auth.redeemTicket': 'INVALID_CREDENTIALS',
  'oauth.authorize': 'APP_UNKNOWN',
  'oauth.request': 'APP_REQUEST_ENDED',
  'oauth.approve': 'APP_REQUEST_ENDED',
  'oauth.refuse': 'APP_REQUEST_ENDED',
  'oauth.token': 'invalid_client',
  'oauth.revoke': 'invalid_client',
  'oidc.exchange': 'INVALID_CREDENTIALS',
  'credentials.initOauth': 'PROVIDER_UNAVAILABLE',
  'credentials.oauthStatus': 'CONFLICT',
  'organizations.delete': 'ORGANIZATION_HAS_PROJECTS',
  'external.cancelAgent': 'AGENT_NOT_RUNNING',
  'scripts.cancel': 'SCRIPT_NOT_RUNNING',
  'agents.check': 'AGENT_NOT_FOUND',
  'agents.cancel': 'AGENT_NOT_RUNNING',
  'agents.relay': 'AGENT_NOT_RUNNING',
  'agents.approvePlan': 'NOTHING_TO_APPROVE',
  'agents.approveAuto': 'NOTHING_TO_APPROVE',
  'agents.merge': 'CONFLICT',
  'landings.add': 'CONFLICT',
  'landings.cancel': 'CONFLICT',
  'branches.checkMerge': 'CONFLICT',
  'branches.push': 'CONFLICT',
  // The project has no label for issues.
  'issues.sync': 'FORGE_NOT_CONFIGURED',
  'branches.update': 'CONFLICT',
  'pullRequests.get': 'PULL_REQUEST_NOT_FOUND',
  'pullRequests.draft': 'CONFLICT',
  'pullRequests.create': 'CONFLICT',
  'pullRequests.update': 'PULL_REQUEST_NOT_FOUND',
  'pullRequests.merge': 'PULL_REQUEST_NOT_FOUND',
  'pullRequests.close': 'PULL_REQUEST_NOT_FOUND',
  'pullRequests.continue': 'PULL_REQUEST_NOT_FOUND',
  // The project has no preview command.
  'previews.start': 'CONFLICT',
  'previews.createTicket': 'CONFLICT',
  // No agent is installed where these tests run.
  'agents.send': 'AGENT_UNAVAILABLE',
  'agents.retry': 'AGENT_UNAVAILABLE',
  'agents.relaunch': 'AGENT_UNAVAILABLE',
  'assistant.send': 'AGENT_UNAVAILABLE',
  'preSessions.start': 'AGENT_UNAVAILABLE',
}

let made = 0
async function newComment({ person, place: { projectId, cardId } }: Sending): Promise<Input> {
  return { commentId: (await person.client.comments.create({ projectId, cardId, body: 'Brief' })).id }
}
const newEmail = () => `made${++made}@example.org`

async function insert({ world: { board } }: Sending, role: UserRole): Promise<{ id: string; email: string }> {
  const email = newEmail()
  const { id } = await board.server.app.db.transaction(tx =>
    insertUser(tx, { email, displayName: 'Made', role, passwordHash: '' }),
  )
  return { id: String(id), email }
}

function newUser(role: UserRole) {
  return async (sending: Sending) => ({ id: (await insert(sending, role)).id })
}
async function newKey({ person }: Sending) {
  return { id: (await person.client.keys.create({ name: 'Brief', scope: 'server', permissions: ['cards.read'] })).id }
}
async function newProfile({ world }: Sending): Promise<Input> {
  const { id } = await world.people.super.client.agentProfiles.create({ name: `made-${randomUUID()}`, agent: 'claude' })
  return { id, credentialId: null }
}
async function ownCredential({ person }: Sending) {
  return { id: person.own.credentialId }
}
async function newColumn({ place: { client, projectId, otherBoardId: boardId } }: Sending) {
  return { columnId: (await client.columns.create({ projectId, boardId, name: 'Brief', columnType: 'backlog' })).id }
}
async function newGate({ place: { client, projectId } }: Sending) {
  return { gateId: (await client.gates.create({ projectId, name: 'Brief', command: 'true' })).id }
}

async function newScript({ place: { client, projectId } }: Sending) {
  return { scriptId: (await client.scripts.create({ projectId, name: 'Brief', command: 'true' })).id }
}
async function newSchedule({ place: { client, projectId } }: Sending) {
  const fields = { name: 'Brief', everySecs: 86_400, template: { title: 'Brief' } }
  return { scheduleId: (await client.schedules.create({ projectId, ...fields })).id }
}
async function newCard({ place: { client, projectId } }: Sending) {
  return { cardId: (await client.cards.create({ projectId, title: 'Brief', deferred: true })).id }
}

async function newBudget(sending: Sending) {
  const { cardId: scopeId } = await newCard(sending)
  const { id } = await sending.place.client.budgets.create({
    scope: 'card',
    scopeId,
    unit: 'hours',
    limit: 9.5,
    period: 'day',
  })
  return { id }
}

async function newBackup({ world }: Sending) {
  return { filename: (await world.board.client.backups.create()).filename }
}

async function newPreSession(sending: Sending) {
  const { cardId } = await newCard(sending)
  return { sessionId: await refined(sending.world.board, { projectId: sending.place.projectId, cardId }) }
}

async function changed(sending: Sending, how: 'delete' | 'archive'): Promise<Input> {
  const { cardId } = await newCard(sending)
  await sending.place.client.cards[how]({ projectId: sending.place.projectId, cardId })
  return { cardId }
}

/** A project with the same members as the place's. */
async function newProject({ world, place }: Sending): Promise<Input> {
  const { id } = await place.client.projects.create({ name: 'Brief', path: place.path })
  await world.people.super.client.projects.update({ id, organizationId: place.organizationId })
  if (place === world.own) await place.client.members.add({ id, email: world.people.manager.email, role: 'admin' })
  return { id }
}
