import { afterAll, beforeAll, expect, test } from 'vitest'
import { permissionsOf, type AppAccess } from '../../../src/contract/accounts/oauth.ts'
import { projectPermissions, type Permission } from '../../../src/contract/route.ts'
import { listOpen } from '../../../src/store/agents/sessions.ts'
import { connectedApp } from '../identity/connectedApp.ts'
import type { TestBoard } from '../servers/testBoard.ts'
import { eventually } from '../waiting/eventually.ts'
import { rows, type Row } from './examples.ts'
import { fileBody, seed, startSlotlessBoard, type Seed } from './seed.ts'
import { callTool, toolOf } from './toolCalls.ts'

export type Kind = 'kanban' | 'terminal'
/** The subject of a request: a separate card for each. `otherId` is a second card. */
export interface Place extends Seed {
  cardId: string
  otherId: string
  reviewId: string
}
/**
 * `started`: its agent was queued before, and still is. `full`: it would start if the server had a slot.
 */
export type Answer = 'starts' | 'defers' | 'leaves' | 'refused' | 'started' | 'full'
export interface Way {
  way: string
  kind?: Kind
  /** The state of the card before: its column, or its past. */
  from?: 'backlog' | 'active' | 'completed' | 'deleted' | 'archived' | 'auto'
  /** Prepares more, as a user. @returns the place of the request */
  given?: (place: Place) => Promise<Place>
  ask: (place: Place) => [method: string, path: string, body?: unknown]
  /** The response per set of permissions. `starts` is the only response after which an agent or command has started. */
  to: Array<[permissions: Permission[], answer: Answer]>
}

export const card = ({ projectId, cardId }: Place, rest = '') => `/api/projects/${projectId}/cards/${cardId}${rest}`
export const made = (more: object) => (place: Place) =>
  ['POST', '/api/cards', { projectId: place.projectId, title: 'Made', columnId: place.activeColumnId, ...more }] as [
    string,
    string,
    unknown,
  ]
export const moved = (place: Place): [string, string, unknown] => [
  'PATCH',
  card(place, '/move'),
  { columnId: place.activeColumnId },
]
export const posted =
  (path: string, body?: unknown) =>
  (place: Place): [string, string, unknown] => ['POST', card(place, path), body]

export let board: TestBoard
export let place: Seed & { reviewId: string }
/** Starts a board for the trials of a file. Files can share this module, so each of them calls this. */
export function useTrialBoard(): void {
  beforeAll(async () => {
    board = await startSlotlessBoard()
    const seeded = await seed(board)
    const { id: reviewId } = await board.client.columns.create({
      projectId: seeded.projectId,
      boardId: seeded.boardId,
      name: 'Review',
      columnType: 'active',
    })
    place = { ...seeded, reviewId }
  })
  afterAll(() => board.close())
}

export const keyWith = async (permissions: readonly Permission[]) =>
  (
    await board.client.keys.create({
      name: 'k',
      scope: 'project',
      projectId: place.projectId,
      permissions: [...permissions],
    })
  ).key

/** A card before the request. An ended session is inserted into the database, because no agent has a slot here. */
export async function cardAt(
  { kind = 'kanban', from = 'backlog' }: Way,
  at: Pick<Seed, 'projectId' | 'columnId' | 'activeColumnId'> = place,
): Promise<string> {
  const { projectId, columnId, activeColumnId } = at
  const { id: cardId } = await board.client.cards.create({
    projectId,
    title: 'Given',
    columnId: from === 'backlog' ? columnId : activeColumnId,
    deferred: true,
    autoMode: from === 'auto',
    kind,
    ...(kind === 'terminal' && { command: 'true' }),
  })
  if (from === 'deleted') await board.client.cards.delete({ projectId, cardId })
  if (from === 'archived') await board.client.cards.archive({ projectId, cardId })
  if (from === 'completed')
    await board.server.app.db.transaction(async tx => {
      const { updateCard } = await import('../../../src/store/cards/cards.ts')
      const { insertSession, updateSession } = await import('../../../src/store/agents/sessions.ts')
      const sessionId = await insertSession(tx, {
        projectId: Number(projectId),
        cardId: Number(cardId),
        purpose: kind === 'terminal' ? 'terminal' : 'work',
        agent: kind === 'terminal' ? 'terminal' : 'fixture',
        status: 'completed',
        prompt: 'Do it',
      })
      await updateSession(tx, sessionId, { endedAt: tx.now })
      await updateCard(tx, Number(cardId), { status: 'completed', deferred: false })
    })
  return cardId
}

export const openSessions = () => listOpen(board.server.app.db)
export async function endAll(): Promise<void> {
  const { app } = board.server
  const { cancelled, end } = await import('../../../src/domain/agents/sessions.ts')
  for (const { id } of await openSessions()) await app.db.transaction(tx => end(tx, app.supervisor, id, cancelled))
}

export const isFile = (path: string) => path.endsWith('/attachments')
/** The row of a request, and its input. */
export function rowFor(
  method: string,
  path: string,
  body: unknown,
): { row: Row; input: Record<string, unknown> } | undefined {
  for (const row of rows) {
    if (row.route.method !== method) continue
    const pattern = new RegExp(`^${row.route.path.replace(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`)
    const match = pattern.exec(path)
    if (match) return { row, input: { ...match.groups, ...(body as object) } }
  }
  return undefined
}

/** Sends the request of a way, directly or through its tool. */
export async function send(way: Way, token: string, by: 'request' | 'tool') {
  await endAll()
  const cardId = await cardAt(way)
  const at = { ...place, cardId, otherId: cardId }
  const here = way.given ? await way.given(at) : at
  const [method, path, body] = way.ask(here)
  const found = by === 'tool' ? rowFor(method, path, body)! : undefined
  const reply = found
    ? await callTool(board, found.row, found.input, { place: here, token })
    : await board.request(method, path, { token, ...(isFile(path) ? fileBody() : { body }) })
  return { reply, here }
}

/** Requires this response, and that an agent starts only if that is allowed. */
export async function requireAnswer({ reply, here }: Awaited<ReturnType<typeof send>>, way: Way, answer: Answer) {
  const code = { refused: 'INSUFFICIENT_PERMISSIONS', full: 'CONFLICT' }[answer as string]
  expect(reply.body?.error?.code, reply.text).toBe(code)
  if (answer === 'starts') await eventually('an agent that starts', async () => (await openSessions()).length === 1)
  else
    expect((await openSessions()).length).toBe(answer === 'started' || (answer === 'refused' && isQueued(way)) ? 1 : 0)
  const made = reply.body?.data ?? reply.body?.result?.structuredContent
  if (answer === 'defers') expect(made.deferred).toBe(true)
  if (answer === 'refused' && way.from === 'backlog')
    expect((await board.client.cards.get({ projectId: place.projectId, cardId: here.cardId })).columnId).toBe(
      place.columnId,
    )
}
export const isQueued = ({ way }: Way) => way.endsWith('in a queue')

export const toolFor = (way: Way): string | undefined => {
  const sample = new Proxy({}, { get: (_, name) => (name === 'then' ? undefined : '1') }) as Place
  const [method, path, body] = way.ask(sample)
  const found = rowFor(method, path, body)
  return found && toolOf(found.row)
}

/** Tests each way with API keys, as a request and, if `byTool`, as a call of its tool. */
export function testKeys(ways: readonly Way[], { byTool = true } = {}): void {
  for (const way of ways)
    for (const [permissions, answer] of way.to) {
      const named = permissions.length === projectPermissions.length ? 'every permission' : permissions.join(' and ')
      for (const by of waysOf(way, byTool))
        test(`${way.way}${by === 'tool' ? ', by a tool' : ''}: ${answer} with ${named}`, async () => {
          await requireAnswer(await send(way, await keyWith(permissions), by), way, answer)
        })
    }
}

/** Tests each way with connected apps of these scopes. */
export function testApps(ways: readonly Way[], scopes: readonly AppAccess[]): void {
  const tokens = new Map<AppAccess, Promise<string>>()
  const tokenOf = (access: AppAccess): Promise<string> => {
    const connect = async () =>
      (await (await connectedApp(board)).connect(board.token, { access, projectId: place.projectId })).access_token
    if (!tokens.has(access)) tokens.set(access, connect())
    return tokens.get(access)!
  }
  for (const way of ways)
    for (const access of scopes)
      for (const by of waysOf(way, true)) {
        const answer = answerTo(way, access)
        if (answer === undefined) continue
        test(`${way.way}${by === 'tool' ? ', by a tool' : ''}: ${answer} with the scope ${access}`, async () => {
          await requireAnswer(await send(way, await tokenOf(access), by), way, answer)
        })
      }
}

const waysOf = (way: Way, byTool: boolean): ReadonlyArray<'request' | 'tool'> =>
  byTool && toolFor(way) ? ['request', 'tool'] : ['request']

/** The response for a scope: that of the largest set of permissions in the table. */
export const answerTo = ({ to }: Way, access: AppAccess): Answer | undefined =>
  to.findLast(([permissions]) => permissions.every(each => permissionsOf(access).includes(each)))?.[1]
