import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'

type ColumnType = 'backlog' | 'active' | 'done' | 'archive'
const columnTypes: readonly ColumnType[] = ['backlog', 'active', 'done', 'archive']

/** A card as the model of the rules predicts it. */
interface ModelCard {
  id: string
  type: ColumnType
  isDone: boolean
  isArchived: boolean
  isDeleted: boolean
  blockers: Set<ModelCard>
  parent: ModelCard | null
}

/** Cards and columns are identified by numbers, of which only the remainder counts. */
const step = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('move' as const), card: fc.nat(), to: fc.constantFrom(...columnTypes) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('block' as const),
      card: fc.nat(),
      by: fc.array(fc.nat(), { maxLength: 3 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('part' as const), card: fc.nat(), of: fc.option(fc.nat()) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constantFrom('archive' as const, 'unarchive' as const, 'complete' as const),
      card: fc.nat(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('delete' as const, 'restore' as const), card: fc.nat() }) },
)
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

/** Completing restores a card that was archived as done to its column. */
const completedTwice: Step[] = [
  { do: 'complete', card: 2 },
  { do: 'archive', card: 2 },
  { do: 'complete', card: 2 },
]

let board: TestBoard
beforeAll(async () => void (board = await startBoard()))
afterAll(() => board.close())

test('blocked, ready and part states match the model after any order of moves, deletions and changes', async () => {
  const cardCount = 6
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async steps => {
      const { id: projectId } = await board.client.projects.create({ name: 'p', path: board.folder('p') })
      const columns = await columnsByType(projectId)
      const cards: ModelCard[] = []
      for (let at = 0; at < cardCount; at++) {
        const { id } = await board.client.cards.create({ projectId, title: `card ${at}`, deferred: true })
        cards.push({
          id,
          type: 'backlog',
          isDone: false,
          isArchived: false,
          isDeleted: false,
          blockers: new Set(),
          parent: null,
        })
      }
      for (const each of steps) {
        await take(projectId, columns, cards, each)
        await expectSame(projectId, cards)
      }
    }),
    { numRuns: 40, examples: [[completedTwice]] },
  )
})

async function columnsByType(projectId: string): Promise<Record<ColumnType, string>> {
  const [first] = await board.client.boards.list({ projectId })
  await board.client.columns.create({ projectId, boardId: first!.id, name: 'Archive', columnType: 'archive' })
  const all = await board.client.columns.list({ projectId })
  return Object.fromEntries(all.map(({ columnType, id }) => [columnType, id])) as Record<ColumnType, string>
}

/** Takes a step on the server and in the model. Skips a step that does not apply. */
async function take(
  projectId: string,
  columns: Record<ColumnType, string>,
  cards: ModelCard[],
  each: Step,
): Promise<void> {
  const { client } = board
  const card = cards[each.card % cards.length]!
  const place = { projectId, cardId: card.id }
  const present = cards.filter(({ isDeleted }) => !isDeleted)
  if (card.isDeleted !== (each.do === 'restore')) return
  switch (each.do) {
    case 'move':
      await client.cards.move({ ...place, columnId: columns[each.to] })
      return enter(card, each.to)
    case 'complete':
      await client.cards.complete(place)
      return enter(card, 'done')
    case 'archive':
      await client.cards.archive(place)
      card.isArchived = true
      return
    case 'unarchive':
      await client.cards.unarchive(place)
      if (card.isArchived) enter(card, card.type === 'archive' ? 'backlog' : card.type)
      return
    case 'delete': {
      const isWanted = !card.isDone && present.some(({ blockers }) => blockers.has(card))
      expect(await codeOf(client.cards.delete(place))).toBe(isWanted ? 'CARD_BLOCKS_OTHERS' : 'ok')
      if (isWanted) await client.cards.delete({ ...place, force: true })
      card.isDeleted = true
      return
    }
    case 'restore':
      await client.cards.restore(place)
      card.isDeleted = false
      return
    case 'block': {
      const blockers = new Set(each.by.map(at => present[at % present.length]!))
      const isCircle = [...blockers].some(blocker => reaches(blocker, card, next => [...next.blockers]))
      const change = client.cards.update({ ...place, blockedBy: [...blockers].map(({ id }) => id) })
      expect(await codeOf(change)).toBe(isCircle ? 'DEPENDENCY_CYCLE' : 'ok')
      if (!isCircle) card.blockers = blockers
      return
    }
    case 'part': {
      const parent = each.of === null ? null : present[each.of % present.length]!
      const isCircle = parent !== null && reaches(parent, card, next => (next.parent ? [next.parent] : []))
      expect(await codeOf(client.cards.update({ ...place, parentId: parent?.id ?? null }))).toBe(
        isCircle ? 'DEPENDENCY_CYCLE' : 'ok',
      )
      if (!isCircle) card.parent = parent
    }
  }
}

function enter(card: ModelCard, type: ColumnType): void {
  card.isDone = type === 'done' || (type === 'archive' && card.isDone)
  card.isArchived = type === 'archive'
  card.type = type
}

const codeOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'ok',
    (error: { code: string }) => error.code,
  )

function reaches(from: ModelCard, target: ModelCard, next: (card: ModelCard) => ModelCard[]): boolean {
  const seen = new Set<ModelCard>()
  const open = [from]
  for (let card = open.pop(); card; card = open.pop()) {
    if (card === target) return true
    if (seen.has(card)) continue
    seen.add(card)
    open.push(...next(card))
  }
  return false
}

async function expectSame(projectId: string, cards: readonly ModelCard[]): Promise<void> {
  const shown = cards.filter(({ isDeleted, isArchived }) => !isDeleted && !isArchived)
  const listed = await board.client.cards.list({ projectId })
  expect(
    listed.map(({ id, blocked, ready, parentId, children }) => ({ id, blocked, ready, parentId, children })),
  ).toEqual(
    shown.map(card => {
      const isOpen = [...card.blockers].some(({ isDone }) => !isDone)
      const parts = cards.filter(({ parent, isDeleted }) => parent === card && !isDeleted)
      return {
        id: card.id,
        blocked: isOpen && !card.isDone,
        ready: !isOpen && (card.type === 'backlog' || card.type === 'active'),
        parentId: card.parent?.id ?? null,
        children: { total: parts.length, done: parts.filter(({ isDone }) => isDone).length },
      }
    }),
  )
}
