import * as fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { registerConfirmed } from '../support/identity/registerConfirmed.ts'

/** For longer runs (`npm run fuzz`): BOARD_MODEL_RUNS, and BOARD_FUZZ_SEED of a failure. */
const runs = Number(process.env.BOARD_MODEL_RUNS ?? 24)
const fuzzSeed = Number(process.env.BOARD_FUZZ_SEED ?? 20_261_121)

let board: TestBoard
let member: { id: string; token: string }
let stranger: string
beforeAll(async () => {
  board = await startBoard({ externalRequestsPerMinute: Infinity })
  await board.as().auth.setup({ email: 'ada@example.org', password: 'correct horse' })
  const [one, other] = await Promise.all(
    ['member', 'stranger'].map(name =>
      registerConfirmed(board, { email: `${name}@example.org`, password: 'correct horse' }),
    ),
  )
  member = { id: one!.user.id, token: one!.token }
  stranger = other!.token
})
afterAll(() => board.close())

const kinds = [
  'create',
  'create',
  'create',
  'move',
  'move',
  'move',
  'archive',
  'unarchive',
  'delete',
  'restore',
  'complete',
  'clear',
  'reorder',
  'newKey',
  'revokeKey',
  'invite',
  'dismiss',
] as const
interface Command {
  kind: (typeof kinds)[number]
  which: number
  column: number
  position: number | undefined
}
const commands = fc.array(
  fc.record<Command>({
    kind: fc.constantFrom(...kinds),
    which: fc.nat(40),
    column: fc.nat(3),
    position: fc.option(fc.nat(12), { nil: undefined }),
  }),
  { minLength: 10, maxLength: 40 },
)

interface Card {
  id: string
  columnId: string
  archived: boolean
  deleted: boolean
}
/** The simplest model of a board: columns that hold ids in order. The last column is one for archived cards. */
interface Model {
  projectId: string
  columns: string[]
  order: Map<string, string[]>
  cards: Card[]
  keys: Array<{ id: string; key: string; isRevoked: boolean }>
  isMember: boolean
}

async function newModel(): Promise<Model> {
  const { id: projectId } = await board.client.projects.create({ name: 'Modelled', path: board.folder('modelled') })
  const [first] = await board.client.boards.list({ projectId })
  await board.client.columns.create({ projectId, boardId: first!.id, name: 'Archive', columnType: 'archive' })
  const columns = (await board.client.columns.list({ projectId })).map(({ id }) => id)
  return { projectId, columns, order: new Map(columns.map(id => [id, []])), cards: [], keys: [], isMember: false }
}

const archiveColumn = ({ columns }: Model) => columns[3]!
const leave = ({ order }: Model, { id }: Card) => {
  for (const [column, ids] of order)
    order.set(
      column,
      ids.filter(each => each !== id),
    )
}
function put(model: Model, card: Card, columnId: string, position?: number): void {
  leave(model, card)
  const ids = model.order.get(columnId)!
  ids.splice(position ?? ids.length, 0, card.id)
  Object.assign(card, { columnId, archived: columnId === archiveColumn(model) })
}

/** Runs a command on the server and on the model, and compares the results. */
async function run(model: Model, { kind, which, column, position }: Command): Promise<void> {
  const { projectId, cards } = model
  const columnId = model.columns[column]!
  if (kind === 'create') {
    const { id } = await board.client.cards.create({
      projectId,
      title: `Card ${cards.length}`,
      columnId,
      deferred: true,
    })
    const card = { id, columnId, archived: false, deleted: false }
    cards.push(card)
    return put(model, card, columnId)
  }
  if (kind === 'clear') {
    expect(
      (await board.request('POST', `/api/projects/${projectId}/columns/${columnId}/clean-all`)).status,
    ).toBeLessThan(300)
    for (const id of model.order.get(columnId)!.slice())
      remove(
        model,
        cards.find(card => card.id === id)!,
      )
    return
  }
  if (kind === 'reorder') {
    const ids = [...model.columns].sort((a, b) => ((Number(a) * (which + 3)) % 7) - ((Number(b) * (which + 3)) % 7))
    expect((await board.client.columns.reorder({ projectId, ids })).map(({ id }) => id)).toEqual(ids)
    return
  }
  if (kind === 'newKey' || kind === 'revokeKey' || kind === 'invite' || kind === 'dismiss')
    return runAccess(model, kind, which)
  const card = cards[which % (cards.length || 1)]
  if (card) await runOnCard(model, card, { kind, columnId, position })
}

function remove(model: Model, card: Card): void {
  leave(model, card)
  card.deleted = true
}

async function runOnCard(
  model: Model,
  card: Card,
  { kind, columnId, position }: { kind: Command['kind']; columnId: string; position: number | undefined },
): Promise<void> {
  const path = `/api/projects/${model.projectId}/cards/${card.id}`
  const isGone = kind === 'restore' ? !card.deleted : card.deleted
  const reply =
    kind === 'move'
      ? await board.request('PATCH', `${path}/move`, { body: { columnId, position } })
      : kind === 'delete'
        ? await board.request('DELETE', path)
        : await board.request('POST', `${path}/${kind}`)
  expect([reply.status < 300, reply.status === 404], `${kind} ${reply.text}`).toEqual([!isGone, isGone])
  if (isGone) return
  const archive = archiveColumn(model)
  if (kind === 'move') put(model, card, columnId, position)
  if (kind === 'archive' && !card.archived) {
    leave(model, card)
    card.archived = true
  }
  if (kind === 'unarchive' && card.archived)
    put(model, card, card.columnId === archive ? await firstOpen(model) : card.columnId)
  if (kind === 'delete') remove(model, card)
  if (kind === 'restore') {
    card.deleted = false
    if (!card.archived || card.columnId === archive) put(model, card, card.columnId)
  }
  if (kind === 'complete' && (card.archived || card.columnId !== model.columns[2])) put(model, card, model.columns[2]!)
}

/** The columns were reordered: only the server knows which one is first. */
const firstOpen = async (model: Model) =>
  (await board.client.columns.list({ projectId: model.projectId })).find(({ id }) => id !== archiveColumn(model))!.id

async function runAccess(
  model: Model,
  kind: 'newKey' | 'revokeKey' | 'invite' | 'dismiss',
  which: number,
): Promise<void> {
  const { projectId, keys } = model
  if (kind === 'newKey')
    keys.push({
      ...(await board.client.keys.create({ name: 'k', scope: 'project', projectId, permissions: ['cards.read'] })),
      isRevoked: false,
    })
  const key = keys[which % (keys.length || 1)]
  if (kind === 'revokeKey' && key && !key.isRevoked) {
    await board.client.keys.revoke({ id: key.id })
    key.isRevoked = true
  }
  if (kind === 'invite' && !model.isMember)
    await board.client.members.add({ id: projectId, email: 'member@example.org' })
  if (kind === 'dismiss' && model.isMember) await board.client.members.remove({ projectId, userId: member.id })
  model.isMember = kind === 'invite' || (kind !== 'dismiss' && model.isMember)
}

/** Reads the board through every route. */
async function compare({ projectId, order, cards, keys, isMember }: Model): Promise<void> {
  const shown = cards.filter(card => !card.deleted && !card.archived)
  const columns = await board.client.columns.list({ projectId })
  for (const { id, cardCount } of columns) {
    const items = await board.client.cards.list({ projectId, columnId: id, offset: 0 })
    expect(items.map(item => [item.id, item.position])).toEqual(order.get(id)!.map((each, at) => [each, at]))
    expect(cardCount).toBe(items.length)
  }
  const ids = shown.map(({ id }) => id).sort((a, b) => Number(a) - Number(b))
  expect((await board.client.cards.list({ projectId })).map(({ id }) => id)).toEqual(ids)
  expect((await board.client.cards.list({ projectId, archived: 'true' })).map(({ id }) => id)).toEqual(
    cards.filter(card => !card.deleted && card.archived).map(({ id }) => id),
  )
  expect((await board.client.projects.stats({ id: projectId })).total).toBe(shown.length)
  expect(
    (await board.client.search.find({ q: 'Card', limit: 100 }))
      .filter(hit => hit.type === 'card' && hit.projectId === projectId)
      .map(({ id }) => id)
      .sort(),
  ).toEqual(
    cards
      .filter(({ deleted }) => !deleted)
      .map(({ id }) => id)
      .sort(),
  )
  const gone = cards.find(({ deleted }) => deleted)
  for (const path of gone
    ? [
        `/api/cards/${gone.id}`,
        `/api/cards/${gone.id}/status`,
        `/api/projects/${projectId}/cards/${gone.id}`,
        `/api/projects/${projectId}/cards/${gone.id}/attachments`,
      ]
    : [])
    expect((await board.request('GET', path)).status, path).toBe(404)
  for (const { key, isRevoked } of keys) {
    const reply = await board.request('GET', `/api/external/projects/${projectId}/cards?limit=100`, { token: key })
    expect([reply.status, reply.body.data?.items.map((item: { id: number }) => String(item.id))]).toEqual(
      isRevoked ? [401, undefined] : [200, ids],
    )
  }
  for (const [token, sees] of [
    [member.token, isMember],
    [stranger, false],
  ] as const) {
    expect((await board.request('GET', `/api/projects/${projectId}/cards`, { token })).status).toBe(sees ? 200 : 404)
    if (cards[0] && !cards[0].deleted)
      expect((await board.request('GET', `/api/cards/${cards[0].id}`, { token })).status).toBe(sees ? 200 : 404)
  }
}

it(
  `after any ${runs} rows of commands the board equals a simple model of it (seed ${fuzzSeed})`,
  async () => {
    await fc.assert(
      fc.asyncProperty(commands, async row => {
        const model = await newModel()
        for (const [at, command] of row.entries()) {
          await run(model, command)
          if (at % 10 === 9) await compare(model)
        }
        await compare(model)
        await board.client.projects.delete({ id: model.projectId })
      }),
      { seed: fuzzSeed, numRuns: runs, endOnFailure: runs > 50 },
    )
  },
  300_000 + 3000 * runs,
)
