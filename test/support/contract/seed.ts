import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Client } from '../../../src/client/index.ts'
import { projectPermissions } from '../../../src/contract/route.ts'
import { createToken } from '../../../src/domain/accounts/token.ts'
import { insertCredential, setAuthorization } from '../../../src/store/accounts/credentials.ts'
import { insertLanding } from '../../../src/store/forges/landings.ts'
import { insertMonitor, updateMonitor } from '../../../src/store/automation/monitors.ts'
import { insertSession, updateSession } from '../../../src/store/agents/sessions.ts'
import { insertUser } from '../../../src/store/accounts/users.ts'
import { fixture } from '../agents/agent.ts'
import { startBoard, type Reply, type TestBoard } from '../servers/testBoard.ts'
import { eventually } from '../waiting/eventually.ts'

/** The id of no account. */
export const nobodyId = '999999'

/** One of each object that routes name by id, and its permitted token. `cardId` is unread and deferred, `columnId` holds it. */
export interface Seed {
  token: string
  /** An API key of the project with every permission. */
  apiKey: string
  /** The project's Git repository, and another worktree of it. */
  path: string
  worktree: string
  /** Another repository. */
  library: string
  projectId: string
  boardId: string
  otherBoardId: string
  columnId: string
  activeColumnId: string
  doneColumnId: string
  emptyColumnId: string
  cardId: string
  archivedCardId: string
  deletedCardId: string
  attachmentId: string
  /** A comment on the card. */
  commentId: string
  /** A review of the card, from before it changed anything. */
  reviewId: string
  keyId: string
  templateId: string
  organizationId: string
  credentialId: string
  /** A budget of the project. */
  budgetId: string
  profileId: string
  /** A credential whose device authorization has expired. */
  grantId: string
  /** A pre-session of the card whose agent waits for an answer. */
  sessionId: string
  /** A card in the active column without a running agent, and an agent token of it. */
  activeCardId: string
  agentToken: string
  /** A monitor of the archived card, which is paused. */
  monitorId: string
  /** A webhook without a receiver, and one of its deliveries. */
  webhookId: string
  deliveryId: string
  /** A slow script, which never ran. */
  scriptId: string
  /** A gate of the other board, and its result for the card, which has no files to check. */
  gateId: string
  proofId: string
  /** A cancelled entry of the landing queue. */
  landingId: string
  /** A schedule that is due in some years. */
  scheduleId: string
  /** The filename of a backup, which must be created first. */
  backup: string
  /** An account that belongs to the project and to the organization; `nobodyId` on a board without users. */
  memberId: string
  /** The address of an account that belongs to neither, and one without an account that is invited to the project. */
  strangerEmail: string
  invitedEmail: string
  /** The token of an invitation that does not exist. */
  invitationToken: string
  /** A sign-in of the token's owner. */
  signInId: string
}

/** A server for tests of the whole contract: it has no rate limit, and its one agent is selected but never gets a slot, so that a request has only its own effects. */
export const startSlotlessBoard = (): Promise<TestBoard> =>
  startBoard(
    { externalRequestsPerMinute: Infinity, agentRequestsPerMinute: Infinity, agentSlots: 0 },
    { fixture: { command: [process.execPath, fixture('well-behaved')] } },
  )

type RepositoryPaths = Pick<Seed, 'path' | 'worktree' | 'library'>
const repositories = new WeakMap<TestBoard, RepositoryPaths>()

/** Creates a new project with one of each object, which belongs to the owner of the token. */
export async function seed(board: TestBoard, token = board.token): Promise<Seed> {
  const client = board.as(token)
  const { path, worktree, library } = repositoryOf(board)
  const [{ id: projectId }, { id: templateId }, { id: organizationId }] = await Promise.all([
    client.projects.create({ name: 'Seeded', path }),
    client.templates.create({
      name: 'Two',
      columns: [
        { name: 'A', columnType: 'backlog' },
        { name: 'B', columnType: 'done' },
      ],
    }),
    client.organizations.create({ name: 'Crew' }),
  ])
  const columns = await client.columns.list({ projectId })
  const [columnId, activeColumnId, doneColumnId] = columns.map(({ id }) => id) as [string, string, string]
  const { boardId } = columns[0]!
  const [{ id: otherBoardId }, { id: keyId, key: apiKey }, { id: credentialId }, grantId, people] = await Promise.all([
    client.boards.create({ projectId, name: 'Other' }),
    client.keys.create({ name: 'Seeded', scope: 'project', projectId, permissions: [...projectPermissions] }),
    client.credentials.create({
      name: 'Seeded',
      provider: 'custom',
      baseUrl: 'http://127.0.0.1:1',
      apiKey: 'sk-seeded-0123456789',
    }),
    expiredGrant(board, Number((await client.auth.me()).id)),
    seedPeople(board, token, projectId, organizationId),
  ])
  const created = await board.request('POST', `/api/external/projects/${projectId}/cards`, {
    token: apiKey,
    body: { title: 'Seeded card', prompt: 'Do it' },
  })
  const cardId = String(created.body.data.id)
  const [{ id: emptyColumnId }, archived, deleted, active, attachment] = await Promise.all([
    client.columns.create({ projectId, boardId, name: 'Empty', columnType: 'archive' }),
    client.cards.create({ projectId, title: 'Archived' }),
    client.cards.create({ projectId, title: 'Deleted' }),
    client.cards.create({ projectId, title: 'Active', columnId: activeColumnId, deferred: true }),
    attach(board, { token, projectId, cardId }),
  ])
  await Promise.all([
    client.cards.archive({ projectId, cardId: archived.id }),
    client.cards.delete({ projectId, cardId: deleted.id }),
    client.panelStates.set({ projectId, [cardId]: { open: true } }),
  ])
  return {
    token,
    apiKey,
    path,
    worktree,
    library,
    projectId,
    boardId,
    otherBoardId,
    columnId,
    activeColumnId,
    doneColumnId,
    emptyColumnId,
    cardId,
    activeCardId: active.id,
    agentToken: (await client.agents.token({ projectId, cardId: active.id })).token,
    archivedCardId: archived.id,
    deletedCardId: deleted.id,
    attachmentId: attachment.body.data.id,
    commentId: (await client.comments.create({ projectId, cardId, body: 'Seeded' })).id,
    reviewId: (await client.reviews.create({ projectId, cardId, verdict: 'comment', body: 'Seeded' })).id,
    budgetId: (
      await client.budgets.create({ scope: 'project', scopeId: projectId, unit: 'usd', limit: 100, period: 'month' })
    ).id,
    keyId,
    templateId,
    organizationId,
    credentialId,
    profileId: (await board.client.agentProfiles.create({ name: `seeded-${randomUUID()}`, agent: 'claude' })).id,
    grantId,
    backup: 'board-2026-01-01T00-00-00.000Z.tar.gz',
    sessionId: await refined(board, { projectId, cardId }),
    monitorId: await monitored(board, { projectId, cardId: archived.id }),
    ...(await hooked(client, projectId)),
    invitationToken: createToken('svc_in_'),
    signInId: (await client.auth.sessions())[0]?.id ?? '999999',
    scheduleId: (
      await client.schedules.create({
        projectId,
        name: 'Seeded',
        cron: '0 0 29 2 *',
        template: { title: 'Seeded {date}' },
      })
    ).id,
    ...(await gated(client, { projectId, boardId: otherBoardId, cardId })),
    landingId: await board.server.app.db.transaction(async tx =>
      String(await insertLanding(tx, { ...landing, projectId: Number(projectId), cardId: Number(cardId) })),
    ),
    scriptId: (await client.scripts.create({ projectId, name: 'Seeded', command: 'sleep 60' })).id,
    ...people,
  }
}

const landing = { branch: 'main', squash: false, status: 'cancelled', requestedBy: 'Ada' } as const

/** Creates a gate of a board, and waits for its result for a card without files. */
async function gated(
  client: Client,
  { projectId, boardId, cardId }: { projectId: string; boardId: string; cardId: string },
): Promise<Pick<Seed, 'gateId' | 'proofId'>> {
  const [column] = await client.columns.list({ projectId, boardId })
  const { id: gateId } = await client.gates.create({ projectId, name: 'Seeded', command: 'true', columnId: column!.id })
  const [proof] = await client.proofs.check({ projectId, cardId, gateId })
  const place = { projectId, cardId, proofId: proof!.id }
  await eventually('the result of the gate', async () => (await client.proofs.get(place)).status === 'error')
  return { gateId, proofId: proof!.id }
}

/** A standard HTML form body. */
export const formBody = (fields: Readonly<Record<string, unknown>>) => ({
  raw: String(new URLSearchParams(fields as Record<string, string>)),
  headers: { 'content-type': 'application/x-www-form-urlencoded' },
})

/** A multipart body with one file, in the form of browsers. */
export const fileBody = (filename = 'notes.txt', text = 'hello\n') => ({
  raw: `--seed-boundary\r\nContent-Disposition: form-data; name="file"; filename="${filename}"\r\nContent-Type: text/plain\r\n\r\n${text}\r\n--seed-boundary--\r\n`,
  headers: { 'content-type': 'multipart/form-data; boundary=seed-boundary' },
})

async function seedPeople(
  board: TestBoard,
  token: string,
  projectId: string,
  organizationId: string,
): Promise<Pick<Seed, 'memberId' | 'strangerEmail' | 'invitedEmail'>> {
  const client = board.as(token)
  const [memberEmail, strangerEmail, invitedEmail] = ['member', 'stranger', 'invited'].map(
    name => `${name}-${projectId}@example.net`,
  ) as [string, string, string]
  if (!(await board.server.app.identity.hasUsers())) return { memberId: nobodyId, strangerEmail, invitedEmail }
  const { id } = await board.server.app.db.transaction(async tx => {
    await insertUser(tx, { email: strangerEmail, displayName: 'Stranger', role: 'user', passwordHash: '' })
    return insertUser(tx, { email: memberEmail, displayName: 'Member', role: 'user', passwordHash: '' })
  })
  await Promise.all([
    client.members.add({ id: projectId, email: memberEmail }),
    client.members.add({ id: projectId, email: invitedEmail }),
    client.organizations.addMember({ id: organizationId, email: memberEmail }),
  ])
  return { memberId: String(id), strangerEmail, invitedEmail }
}

/** Creates a project of another account, and returns the token of an invitation to it. */
export async function invitedElsewhere(board: TestBoard): Promise<string> {
  const email = `owner-${randomUUID()}@example.net`
  const { token } = await board.as().auth.register({ email, password: 'a long password' })
  const client = board.as(token)
  const { id } = await client.projects.create({ name: 'Elsewhere', path: repositoryOf(board).path })
  const invited = await client.members.add({ id, email: 'guest@example.net' })
  return invited.pending ? invited.token : ''
}

const expiredGrant = (board: TestBoard, userId: number): Promise<string> =>
  board.server.app.db.transaction(async tx => {
    const id = await insertCredential(tx, { userId, name: 'Expired', provider: 'github', kind: 'oauth', baseUrl: null })
    await setAuthorization(tx, id, { oauth: JSON.stringify({ status: 'expired' }), sealed: null })
    return String(id)
  })

export const refined = (board: TestBoard, { projectId, cardId }: Pick<Seed, 'projectId' | 'cardId'>): Promise<string> =>
  board.server.app.db.transaction(async tx => {
    const id = await insertSession(tx, {
      projectId: Number(projectId),
      cardId: Number(cardId),
      purpose: 'pre',
      agent: 'fixture',
      status: 'completed',
      prompt: 'Refine it',
    })
    await updateSession(tx, id, { summary: 'Do it well', endedAt: tx.now })
    return String(id)
  })

/** Inserts a paused monitor into the database, or for an active card one that is due in a day. */
export const monitored = (
  board: TestBoard,
  { projectId, cardId }: Pick<Seed, 'projectId' | 'cardId'>,
  status: 'paused' | 'pending' = 'paused',
): Promise<string> =>
  board.server.app.db.transaction(async tx => {
    const id = await insertMonitor(tx, {
      projectId: Number(projectId),
      cardId: Number(cardId),
      command: 'true',
      intervalSecs: 86_400,
      description: null,
      cwd: '/',
      byAgent: false,
    })
    await updateMonitor(tx, id, {
      status,
      nextRunAt: status === 'paused' ? null : new Date(Date.parse(tx.now) + 86_400_000).toISOString(),
    })
    return String(id)
  })

/** A webhook to a closed port, and its test. */
export async function hooked(client: Client, projectId: string): Promise<Pick<Seed, 'webhookId' | 'deliveryId'>> {
  const { id: webhookId } = await client.webhooks.create({
    projectId,
    url: 'http://127.0.0.1:1/hook',
    events: ['board.reordered'],
  })
  return { webhookId, deliveryId: (await client.webhooks.test({ projectId, webhookId })).id }
}

async function attach(
  board: TestBoard,
  { token, projectId, cardId }: Pick<Seed, 'token' | 'projectId' | 'cardId'>,
): Promise<Reply> {
  const reply = await board.request('POST', `/api/projects/${projectId}/cards/${cardId}/attachments`, {
    token,
    ...fileBody(),
  })
  if (reply.status !== 201) throw new Error(`The attachment was answered with ${reply.status}: ${reply.text}`)
  return reply
}

function repositoryOf(board: TestBoard): RepositoryPaths {
  const known = repositories.get(board)
  if (known) return known
  const path = board.folder('repository')
  const worktree = join(path, '..', 'worktree')
  const git = (...args: string[]) =>
    execFileSync(
      'git',
      ['-C', path, '-c', 'user.name=Test', '-c', 'user.email=test@example.org', '-c', 'commit.gpgsign=false', ...args],
      { stdio: 'ignore' },
    )
  git('init', '-b', 'main')
  writeFileSync(join(path, 'README'), 'A repository.\n')
  writeFileSync(join(path, 'board.json'), '{ "setup": "npm ci" }\n')
  git('add', 'README')
  git('commit', '-m', 'Begin')
  git('worktree', 'add', '-b', 'own', worktree)
  const library = board.folder('library')
  execFileSync('git', ['init', '-q', '-b', 'main', library])
  repositories.set(board, { path, worktree, library })
  return { path, worktree, library }
}
