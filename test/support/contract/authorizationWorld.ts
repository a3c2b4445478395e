import { isAboutServer } from '../../../src/contract/accounts/keys.ts'
import { externalPermissions, permissions, projectPermissions, type Permission } from '../../../src/contract/route.ts'
import type { Client } from '../../../src/client/index.ts'
import { mintAgentToken } from '../../../src/identity/agentTokens.ts'
import { createToken } from '../../../src/domain/accounts/token.ts'
import type { Column } from './authorizationTable.ts'
import { missingAgent, startBoard, type TestBoard } from '../servers/testBoard.ts'
import { seed, type Seed } from './seed.ts'
import { registerConfirmed } from '../identity/registerConfirmed.ts'

/** An unused sign-in expires after 30 days, and is deleted a day later. */
const sinceSignInMs = 30.5 * 86_400_000
const password = 'a long password'

/** A user with an account. `own` are the objects that belong to no other user. */
export interface Person {
  id: string
  email: string
  token: string
  client: Client
  own: Pick<Seed, 'keyId' | 'credentialId' | 'templateId'>
}
/** A project in an organization with one of each object. `client` is its owner's, who does not belong to the organization. */
export interface Place extends Seed {
  client: Client
}
/** A token or key that has ended, and the response to it. */
export interface Ended {
  why: string
  token: string
  code: 'UNAUTHENTICATED' | 'TOKEN_EXPIRED'
}
type PersonColumn = Extract<
  Column,
  'stranger' | 'viewer' | 'member' | 'manager' | 'crew' | 'chief' | 'owner' | 'admin' | 'super' | 'local'
>

/** A server with a stopped clock, all callers of the table, their own place, and that of another user. */
export interface World {
  board: TestBoard
  people: Record<PersonColumn, Person>
  own: Place
  foreign: Place
  ended: Ended[]
  keys: Record<'viewerKey' | 'orgKey' | 'superKey', string>
  /** A key of super for the own project, or for the server for server permissions. */
  keyFor(allowed: readonly Permission[]): Promise<string>
  /** An agent token of the own place's card, or of another card there. */
  agentToken(column: 'agent' | 'otherAgent'): Promise<string>
  password: string
}

export async function createWorld(): Promise<World> {
  let now = new Date(Date.now() - sinceSignInMs)
  const board = await startBoard(
    { clock: () => now, externalRequestsPerMinute: Infinity, agentRequestsPerMinute: Infinity },
    { fixture: missingAgent },
  )
  const root = { email: 'super@example.org', password }
  const first = await board.as().auth.setup(root)
  const brief = await board
    .as(first.token)
    .keys.create({ name: 'Brief', scope: 'server', permissions: [...permissions], expiresInDays: 1 })
  now = new Date(now.getTime() + sinceSignInMs)
  const top = await enter(board, await board.as().auth.login(root))
  const { stranger, viewer, member, manager, crew, chief, owner, other } = await register(board, [
    'stranger',
    'viewer',
    'member',
    'manager',
    'crew',
    'chief',
    'owner',
    'other',
  ])
  const admin = await register(board, ['admin'])
  await top.client.users.update({ id: admin.admin!.id, role: 'admin' })
  const [own, foreign] = [await settle(board, owner!), await settle(board, other!)]
  for (const [role, person] of [
    ['viewer', viewer],
    ['member', member],
    ['admin', manager],
  ] as const)
    await owner!.client.members.add({ id: own.projectId, email: person!.email, role })
  for (const [role, person] of [
    ['member', crew],
    ['admin', chief],
  ] as const)
    await top.client.organizations.addMember({ id: own.organizationId, email: person!.email, role })
  for (const { organizationId: id, client } of [own, foreign])
    await client.organizations.removeMember({ id, userId: (await client.auth.me()).id! })
  const { id: otherCardId } = await own.client.cards.create({
    projectId: own.projectId,
    title: 'Of another agent',
    deferred: true,
  })
  const people = {
    stranger,
    viewer,
    member,
    manager,
    crew,
    chief,
    owner,
    admin: admin.admin,
    super: top,
    local: { ...top, token: board.token, client: board.client },
  } as World['people']
  const keyOf = async ({ client }: Person, scope: object) =>
    (
      await client.keys.create({
        name: 'All',
        scope: 'server',
        permissions: [...projectPermissions],
        ...scope,
      } as never)
    ).key
  return {
    board,
    people,
    own,
    foreign,
    password,
    ended: [
      { why: 'a sign-in that has expired', token: first.token, code: 'TOKEN_EXPIRED' },
      { why: 'a key that has expired', token: brief.key, code: 'TOKEN_EXPIRED' },
      ...(await endSome(board, top)),
    ],
    keys: {
      viewerKey: await keyOf(people.viewer, {}),
      orgKey: await keyOf(people.super, { scope: 'organization', organizationId: own.organizationId }),
      superKey: await keyOf(people.super, { permissions: [...permissions] }),
    },
    agentToken: column =>
      board.server.app.db.transaction(
        async tx =>
          (await mintAgentToken(tx, { cardId: Number(column === 'agent' ? own.cardId : otherCardId), ttlSecs: 60 }))
            .token,
      ),
    keyFor: async allowed =>
      await keyOf(people.super, {
        permissions: [...allowed],
        ...(!allowed.some(isAboutServer) && { scope: 'project', projectId: own.projectId }),
      }),
  }
}

/** Creates an account with its own key, credential and template. */
async function enter(
  board: TestBoard,
  { token, user }: { token: string; user: { id: string; email: string } },
): Promise<Person> {
  const client = board.as(token)
  const [{ id: keyId }, { id: credentialId }, { id: templateId }] = await Promise.all([
    client.keys.create({ name: 'Own', scope: 'server', permissions: ['cards.read'] }),
    client.credentials.create({
      name: 'Own',
      provider: 'custom',
      baseUrl: 'http://127.0.0.1:1',
      apiKey: 'sk-own-0123456789',
    }),
    client.templates.create({ name: 'Own', columns: [] }),
  ])
  return { id: user.id, email: user.email, token, client, own: { keyId, credentialId, templateId } }
}

async function register(board: TestBoard, names: readonly string[]): Promise<Record<string, Person>> {
  return Object.fromEntries(
    await Promise.all(
      names.map(
        async name =>
          [
            name,
            await enter(board, await registerConfirmed(board, { email: `${name}@example.org`, password })),
          ] as const,
      ),
    ),
  )
}

/** Creates a project with one of each object for a user, in an organization that has another admin, so that its owner can leave it. */
async function settle(board: TestBoard, { token, client }: Person): Promise<Place> {
  const place = await seed(board, token)
  await client.projects.update({ id: place.projectId, organizationId: place.organizationId })
  await client.organizations.updateMember({ id: place.organizationId, userId: place.memberId, role: 'admin' })
  return { ...place, client }
}

/** One of each kind that has ended or never existed. The key of a deleted account is distinguished from its sign-in. */
async function endSome(board: TestBoard, { client }: Person): Promise<Ended[]> {
  const newcomer = async (name: string) => {
    const { user, generatedPassword } = await client.users.create({
      email: `${name}@example.org`,
      name,
      role: 'super_admin',
    })
    return {
      id: user.id,
      token: (await board.as().auth.login({ email: user.email, password: generatedPassword })).token,
    }
  }
  const [left, reset, gone] = (await Promise.all(['left', 'reset', 'gone'].map(newcomer))) as [
    Newcomer,
    Newcomer,
    Newcomer,
  ]
  const newKey = (as = client) =>
    as.keys.create({ name: 'Ends', scope: 'server', permissions: [...externalPermissions] })
  const [revoked, rotated, ofGone] = await Promise.all([newKey(), newKey(), newKey(board.as(gone.token))])
  await Promise.all([
    board.as(left.token).auth.logout(),
    client.users.resetPassword({ id: reset.id }),
    client.users.delete({ id: gone.id }),
    client.keys.revoke({ id: revoked.id }),
    client.keys.rotate({ id: rotated.id }),
  ])
  const unknown = (why: string, token: string): Ended => ({ why, token, code: 'UNAUTHENTICATED' })
  return [
    unknown('a sign-in that was signed out', left.token),
    unknown('a sign-in from before a password reset', reset.token),
    unknown('a sign-in of a deleted account', gone.token),
    unknown('a key that was revoked', revoked.key),
    { why: 'a key that was rotated', token: rotated.key, code: 'TOKEN_EXPIRED' },
    unknown('a key of a deleted account', ofGone.key),
    unknown('the local token of another server', createToken('svc_lt_')),
    unknown('a sign-in that never existed', createToken('svc_st_')),
    unknown('a key that never existed', createToken('svc_ak_')),
    unknown("an agent's token", createToken('svc_at_')),
    unknown('no token at all', 'svc_st_nonsense'),
  ]
}
interface Newcomer {
  id: string
  token: string
}
