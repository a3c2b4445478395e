import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startFolderBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'

const runs = Number(process.env.BOARD_TEST_ROUNDS ?? 40)

type Column = 'backlog' | 'active' | 'done'
const columnNames: readonly Column[] = ['backlog', 'active', 'done']

/** A card as the model of the rules predicts it. A started card stays queued: the server has no slot. */
interface ModelCard {
  id: string
  column: Column
  isArchived: boolean
  isDeleted: boolean
  isAuto: boolean
  /** Whether the card waits for capacity in the active column. */
  waits: boolean
  status: 'idle' | 'queued' | 'cancelled' | 'completed'
  starts: number
  blockers: Set<ModelCard>
}
interface Model {
  cards: ModelCard[]
  order: Record<Column, ModelCard[]>
  limit: Record<Column, number | null>
  pulls: boolean
}

/** Cards are identified by numbers, of which only the remainder counts. */
const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('move' as const),
      card: fc.nat(),
      to: fc.constantFrom(...columnNames),
      force: fc.integer({ min: 0, max: 4 }).map(one => one === 0),
      position: fc.option(fc.nat({ max: 3 })),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('block' as const),
      card: fc.nat(),
      by: fc.array(fc.nat(), { maxLength: 2 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constantFrom(
        'complete' as const,
        'archive' as const,
        'unarchive' as const,
        'delete' as const,
        'restore' as const,
      ),
      card: fc.nat(),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('limit' as const),
      of: fc.constantFrom('active' as const, 'done' as const),
      to: fc.option(fc.integer({ min: 1, max: 3 })),
      pulls: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('burst' as const),
      to: fc.constantFrom('active' as const, 'done' as const),
    }),
  },
)
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never
/** The first card waits for others while the column pulls: random steps rarely produce this. */
const pullsBeside: Step[] = [
  { do: 'block', card: 0, by: [1, 2] },
  { do: 'limit', of: 'active', to: 2, pulls: true },
]
const steps = fc
  .tuple(fc.constantFrom([], pullsBeside), fc.array(step, { minLength: 5, maxLength: 25 }))
  .map(([first, others]) => [...first, ...others])

let board: AgentBoard
beforeAll(async () => void (board = await startFolderBoard({ well: { fixture: 'well-behaved' } }, { agentSlots: 0 })))
afterAll(() => board.close())

test('for any moves, blockers, deletions and limits, no blocked card starts, no pulled card stays, no card starts twice, and only force exceeds a limit', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.boolean(), { minLength: 6, maxLength: 6 }), steps, async (autos, taken) => {
      const { id: projectId } = await board.client.projects.create({ name: 'p', path: board.folder('p') })
      await board.client.projects.update({ id: projectId, agent: 'well' })
      const all = await board.client.columns.list({ projectId })
      const columns = Object.fromEntries(all.map(({ columnType, id }) => [columnType, id])) as Record<Column, string>
      const model: Model = {
        cards: [],
        order: { backlog: [], active: [], done: [] },
        limit: { backlog: null, active: null, done: null },
        pulls: false,
      }
      for (const [at, isAuto] of autos.entries()) {
        const made = { projectId, title: `card ${at}`, deferred: true, autoMode: isAuto }
        const { id } = await board.client.cards.create(made)
        const card: ModelCard = {
          id,
          column: 'backlog',
          isArchived: false,
          isDeleted: false,
          isAuto,
          waits: false,
          status: 'idle',
          starts: 0,
          blockers: new Set(),
        }
        model.cards.push(card)
        model.order.backlog.push(card)
      }
      for (const each of taken) {
        await take(projectId, columns, model, each)
        fill(model)
        await untilSame(projectId, columns, model)
      }
    }),
    { numRuns: runs, interruptAfterTimeLimit: 200_000 },
  )
})

const isOut = ({ isArchived, isDeleted }: ModelCard) => isArchived || isDeleted
const isBlocked = ({ blockers }: ModelCard) => [...blockers].some(({ column }) => column !== 'done')
const isFull = ({ order, limit }: Model, column: Column) =>
  limit[column] !== null && order[column].length >= limit[column]!

/** Takes a step on the server and in the model. Skips a step that does not apply. */
async function take(projectId: string, columns: Record<Column, string>, model: Model, each: Step): Promise<void> {
  const { client } = board
  if (each.do === 'limit') {
    const isPulling = each.of === 'active' && each.to !== null && each.pulls
    await client.columns.update({ projectId, columnId: columns[each.of], wipLimit: each.to, pull: isPulling })
    model.limit[each.of] = each.to
    if (each.of === 'active') model.pulls = isPulling
    return
  }
  if (each.do === 'burst') return burst(projectId, columns, model, each.to)
  const card = model.cards[each.card % model.cards.length]!
  const place = { projectId, cardId: card.id }
  if (card.isDeleted !== (each.do === 'restore')) return
  switch (each.do) {
    case 'move': {
      const isRefused = (card.column !== each.to || card.isArchived) && isFull(model, each.to) && !each.force
      const to = { columnId: columns[each.to], force: each.force, position: each.position ?? undefined }
      expect(await codeOf(client.cards.move({ ...place, ...to }))).toBe(isRefused ? 'COLUMN_FULL' : 'ok')
      if (!isRefused) enter(model, card, each.to, { force: each.force, position: each.position ?? undefined })
      return
    }
    case 'complete': {
      const enters = card.column !== 'done' || card.isArchived
      const isRefused = enters && isFull(model, 'done')
      expect(await codeOf(client.cards.complete(place))).toBe(isRefused ? 'COLUMN_FULL' : 'ok')
      if (isRefused) return
      if (card.status === 'queued') card.status = 'completed'
      if (enters) enter(model, card, 'done')
      return
    }
    case 'archive':
      await client.cards.archive(place)
      if (!card.isArchived) leave(model, card)
      card.isArchived = true
      return
    case 'unarchive': {
      const isRefused = card.isArchived && isFull(model, card.column)
      expect(await codeOf(client.cards.unarchive(place))).toBe(isRefused ? 'COLUMN_FULL' : 'ok')
      if (card.isArchived && !isRefused) comeBack(model, card, () => (card.isArchived = false))
      return
    }
    case 'delete':
      await client.cards.delete({ ...place, force: true })
      leave(model, card)
      card.isDeleted = true
      return
    case 'restore': {
      const isRefused = !card.isArchived && isFull(model, card.column)
      expect(await codeOf(client.cards.restore(place))).toBe(isRefused ? 'COLUMN_FULL' : 'ok')
      if (isRefused) return
      if (card.isArchived) card.isDeleted = false
      else comeBack(model, card, () => (card.isDeleted = false))
      return
    }
    case 'block': {
      const present = model.cards.filter(({ isDeleted }) => !isDeleted)
      const blockers = new Set(each.by.map(at => present[at % present.length]!))
      const isCircle = [...blockers].some(blocker => reaches(blocker, card))
      const change = client.cards.update({ ...place, blockedBy: [...blockers].map(({ id }) => id) })
      expect(await codeOf(change)).toBe(isCircle ? 'DEPENDENCY_CYCLE' : 'ok')
      if (isCircle) return
      const was = isBlocked(card) && card.column !== 'done'
      card.blockers = blockers
      if (was && !isBlocked(card)) startReady(model, card)
    }
  }
}

/** Moves all cards at once: the server selects the accepted ones, and the limit their number. */
async function burst(
  projectId: string,
  columns: Record<Column, string>,
  model: Model,
  to: 'active' | 'done',
): Promise<void> {
  const moving = model.cards.filter(card => !isOut(card) && card.column !== to && card.column !== 'active')
  const before = model.order[to].length
  const room = model.limit[to] === null ? Infinity : Math.max(0, model.limit[to] - before)
  // No card is pulled automatically until then.
  if (model.pulls || model.cards.some(({ waits }) => waits)) return
  const codes = await Promise.all(
    moving.map(card => codeOf(board.client.cards.move({ projectId, cardId: card.id, columnId: columns[to] }))),
  )
  const entered = moving.filter((_, at) => codes[at] === 'ok')
  expect(codes.filter(code => code === 'COLUMN_FULL')).toHaveLength(Math.max(0, moving.length - room))
  const listed = await board.client.cards.list({ projectId, columnId: columns[to], offset: 0 })
  const places = new Map(listed.map(({ id, position }) => [id, position!]))
  for (const card of entered.toSorted((a, b) => (places.get(a.id) ?? 99) - (places.get(b.id) ?? 99)))
    enter(model, card, to)
}

function leave(model: Model, card: ModelCard): void {
  model.order[card.column] = model.order[card.column].filter(each => each !== card)
  if (card.status === 'queued') card.status = 'cancelled'
}

/** Moves a card like a user does. */
function enter(
  model: Model,
  card: ModelCard,
  to: Column,
  { force = false, position }: { force?: boolean; position?: number } = {},
): void {
  const isOther = card.column !== to
  if (isOther && (card.column === 'active' || to === 'active') && card.status === 'queued') card.status = 'cancelled'
  model.order[card.column] = model.order[card.column].filter(each => each !== card)
  const wasDone = card.column === 'done'
  card.column = to
  card.isArchived = false
  if (isOther) card.waits = false
  model.order[to].splice(position ?? Infinity, 0, card)
  if (isOther && to === 'active' && (force || !isBlocked(card))) start(card)
  if (!wasDone && to === 'done') for (const each of dependentsOf(model, card)) startReady(model, each)
}

function comeBack(model: Model, card: ModelCard, change: () => void): void {
  change()
  model.order[card.column].push(card)
  if (card.blockers.size > 0) startReady(model, card)
}

const dependentsOf = ({ cards }: Model, blocker: ModelCard) =>
  cards
    .filter(({ blockers, isDeleted }) => blockers.has(blocker) && !isDeleted)
    .toSorted((a, b) => Number(a.id) - Number(b.id))

function start(card: ModelCard): void {
  card.status = 'queued'
  card.starts++
  card.waits = false
}

/** The board's automatic start of a card in auto mode that is no longer blocked. */
function startReady(model: Model, card: ModelCard): void {
  if (isBlocked(card) || isOut(card) || !card.isAuto || card.status !== 'idle' || card.column === 'done') return
  if (card.column === 'active') start(card)
  else if (isFull(model, 'active')) card.waits = true
  else goIn(model, card)
}

function goIn(model: Model, card: ModelCard): void {
  model.order.backlog = model.order.backlog.filter(each => each !== card)
  card.column = 'active'
  model.order.active.push(card)
  start(card)
}

/** Moves cards into the active column automatically while it has capacity. */
function fill(model: Model): void {
  while (!isFull(model, 'active')) {
    const next = model.order.backlog.find(
      card => card.status === 'idle' && !isBlocked(card) && (card.waits || model.pulls),
    )
    if (!next) return
    goIn(model, next)
  }
}

const codeOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'ok',
    (error: { code: string }) => error.code,
  )

function reaches(from: ModelCard, target: ModelCard): boolean {
  return from === target || [...from.blockers].some(next => reaches(next, target))
}

async function untilSame(projectId: string, columns: Record<Column, string>, model: Model): Promise<void> {
  const expected = columnNames.map(column =>
    model.order[column].map(({ id, status, starts }) => `${id} ${status} ${starts}`).join(', '),
  )
  let found: string[] = []
  const isSame = async () => {
    found = []
    for (const column of columnNames) {
      const listed = await board.client.cards.list({ projectId, columnId: columns[column], offset: 0 })
      const cards = await Promise.all(listed.map(({ id: cardId }) => board.client.cards.get({ projectId, cardId })))
      found.push(cards.map(({ id, status, sessions }) => `${id} ${status} ${sessions.length}`).join(', '))
    }
    return found.join('; ') === expected.join('; ')
  }
  await eventually('equal states on the server and in the model', isSame, 5000).catch(() =>
    expect(found).toEqual(expected),
  )
}
