import type { CachedColumn, Card, CardCache } from './cardCache.ts'
import { assigneeNames, isOverdue } from './plan.ts'
import { sortCards, type Sort } from './sort.ts'
import { choiceNames, planFields } from '../contract/cards/planFields.ts'

/** A pending move of a card, which the server has not announced yet. Without a column, the card leaves the board. */
export interface Move {
  id: number
  cardId: string
  columnId: string | undefined
  position: number
  doneVersion?: number
}
/** A shown column: with the pending moves, and only the cards that match the filter. */
export interface ShownColumn extends CachedColumn {
  found: readonly string[]
}
export interface ShownBoard {
  columns: readonly ShownColumn[]
  cards: ReadonlyMap<string, Card>
}

/** The state that determines the shown board. */
export interface BoardState {
  cache: CardCache
  moves: readonly Move[]
  filter: string
  sort: Sort
  /** Card ID -> its agent, if known. */
  agents?: ReadonlyMap<string, { agent: string | null }>
}

/**
 * The board that the user sees: the cards from the server with the pending moves, filtered and sorted.
 * @param before the board that was shown last: unchanged columns stay the same objects
 */
export const shownBoard = ({ cache, moves, filter, sort, agents }: BoardState, before?: ShownBoard): ShownBoard => ({
  cards: cache.cards,
  columns: withMoves(cache.columns, moves).map(column => {
    const found = sortCards(
      filter === ''
        ? column.ids
        : column.ids.filter(id =>
            matches(cache.cards.get(id), filter, { agent: agents?.get(id)?.agent, columnType: column.columnType }),
          ),
      cache.cards,
      sort,
    )
    const known = before?.columns.find(({ id }) => id === column.id)
    return known && isSame(known, column, found) ? known : { ...column, found }
  }),
})

const isSame = (
  { found: knownFound, ...known }: ShownColumn,
  column: CachedColumn,
  found: readonly string[],
): boolean =>
  Object.entries(known).every(([name, value]) => column[name as keyof CachedColumn] === value) &&
  (found === knownFound || (found.length === knownFound.length && found.every((id, at) => id === knownFound[at])))

/** The pending moves that the cache does not contain yet. */
export const pendingMoves = ({ cards }: CardCache, moves: readonly Move[]): readonly Move[] => {
  const left = moves.filter(({ cardId, doneVersion }) => {
    const card = cards.get(cardId)
    return doneVersion === undefined || (card !== undefined && card.version < doneVersion)
  })
  return left.length === moves.length ? moves : left
}

/** Removes moving cards, and inserts each at the place of its last move. */
function withMoves(columns: readonly CachedColumn[], moves: readonly Move[]): readonly CachedColumn[] {
  if (moves.length === 0) return columns
  const last = new Map(moves.map(move => [move.cardId, move]))
  const there = new Set(columns.flatMap(({ ids }) => ids.filter(id => last.has(id))))
  return columns.map(column => {
    const isTouched = column.ids.some(id => last.has(id)) || moves.some(({ columnId }) => columnId === column.id)
    if (!isTouched) return column
    const ids = column.ids.filter(id => !last.has(id))
    for (const { cardId, columnId, position } of last.values())
      if (columnId === column.id && there.has(cardId)) ids.splice(position, 0, cardId)
    return { ...column, ids, total: column.total + ids.length - column.ids.length }
  })
}

/**
 * Whether a card has every word somewhere in its title, its labels, its status, its agent, (with @) the name of its creator or an
 * assignee, (with the sign of a choice) its value, (with !) the word due or overdue, or (with #) its ID.
 */
function matches(
  card: Card | undefined,
  filter: string,
  { agent, columnType }: { agent?: string | null; columnType: CachedColumn['columnType'] },
): boolean {
  if (!card) return false
  const text = texts.get(card) ?? textOf(card)
  texts.set(card, text)
  return filter
    .toLowerCase()
    .split(/\s+/)
    .every(
      word =>
        text.includes(word) ||
        agent?.toLowerCase().includes(word) ||
        (word === '!overdue' && isOverdue(card, columnType, Date.now())),
    )
}

const textOf = (card: Card): string => {
  const { title, labels, status, agent, creatorName, id, dueAt, assignees } = card
  const people = [creatorName ?? '', ...assigneeNames({ assignees })].map(name => `@${name}`).join(' ')
  const choices = choiceNames.map(name => `${planFields[name].sign}${card[name] ?? ''}`).join(' ')
  return `${title} ${labels.join(' ')} ${status} ${agent ?? ''} ${people} ${choices} ${dueAt ? '!due' : ''} #${id}`.toLowerCase()
}
const texts = new WeakMap<Card, string>()
