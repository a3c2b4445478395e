import { createFilter } from './boardFilter.ts'
import type { CachedColumn, Card, CardCache } from './cardCache.ts'
import { sortCards, type AgentsOfCards, type Sort } from './sort.ts'

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
  isReversed?: boolean
  agents?: AgentsOfCards
}

/**
 * The board that the user sees: the cards from the server with the pending moves, filtered and sorted.
 * @param before the board that was shown last: unchanged columns stay the same objects
 */
export function shownBoard(
  { cache, moves, filter, sort, isReversed, agents }: BoardState,
  before?: ShownBoard,
): ShownBoard {
  const matches = createFilter(filter)
  const columns = withMoves(cache.columns, moves).map(column => {
    const { columnType } = column
    const ids =
      filter === ''
        ? column.ids
        : column.ids.filter(id => matches(cache.cards.get(id), { agent: agents?.get(id)?.agent, columnType }))
    const found = sortCards(ids, cache.cards, sort, { isReversed, agents })
    const known = before?.columns.find(({ id }) => id === column.id)
    return known && isSame(known, column, found) ? known : { ...column, found }
  })
  return { cards: cache.cards, columns }
}

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
