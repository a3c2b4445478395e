import { cardHeight, layoutOf, textWidth, topOf, type Layout } from './layout.ts'
import type { Model, Move, Sort } from './model.ts'
import { sorted } from './sort.ts'
import type { Card, CachedColumn, CardCache } from './cardCache.ts'

/** A column as it is shown: with the cards that are on their way, and of those the ones that the filter lets through. */
export interface ShownColumn extends CachedColumn {
  found: readonly string[]
}
export interface ShownBoard {
  columns: readonly ShownColumn[]
  cards: ReadonlyMap<string, Card>
}

type BoardParts = Pick<Model, 'cache' | 'moves' | 'view' | 'sort'>

let last: { cache: CardCache; moves: readonly Move[]; filter: string; sort: Sort; board: ShownBoard } | undefined

/** The board that the person sees. The same parts make the same board, which is then not made again. */
export function boardOf({ cache, moves, view: { filter }, sort }: BoardParts): ShownBoard {
  if (last?.cache === cache && last.moves === moves && last.filter === filter && last.sort === sort) return last.board
  const board = {
    cards: cache.cards,
    columns: withMoves(cache.columns, moves).map(column => ({
      ...column,
      found: sorted(
        filter === '' ? column.ids : column.ids.filter(id => matches(cache.cards.get(id), filter)),
        cache.cards,
        sort,
      ),
    })),
  }
  last = { cache, moves, filter, sort, board }
  return board
}

/** Cards that move are taken out, and put where the last move of each brings it. */
function withMoves(columns: readonly CachedColumn[], moves: readonly Move[]): readonly CachedColumn[] {
  if (moves.length === 0) return columns
  const last = new Map(moves.map(move => [move.cardId, move]))
  const there = new Set(columns.flatMap(({ ids }) => ids.filter(id => last.has(id))))
  return columns.map(column => {
    const ids = column.ids.filter(id => !last.has(id))
    for (const { cardId, columnId, position } of last.values())
      if (columnId === column.id && there.has(cardId)) ids.splice(position, 0, cardId)
    return { ...column, ids, total: column.total + ids.length - column.ids.length }
  })
}

/** Whether a card has every word somewhere in its title, its labels, its status or (with #) its id. */
function matches(card: Card | undefined, filter: string): boolean {
  if (!card) return false
  const text = texts.get(card) ?? `${card.title} ${card.labels.join(' ')} ${card.status} #${card.id}`.toLowerCase()
  texts.set(card, text)
  return filter
    .toLowerCase()
    .split(/\s+/)
    .every(word => text.includes(word))
}

const texts = new WeakMap<Card, string>()

export const focusedColumn = (board: ShownBoard, { focus }: Model['view']): ShownColumn | undefined =>
  board.columns.find(({ id }) => id === focus) ?? board.columns[0]

/** Where the cursor is in a column; -1 when it is empty. */
export function cursorIn({ id, found }: ShownColumn, { cursors }: Model['view']): number {
  const cursor = cursors[id]
  const at =
    cursor?.cardId === undefined ? -1 : found[cursor.at] === cursor.cardId ? cursor.at : found.indexOf(cursor.cardId)
  return at >= 0 ? at : Math.min(cursor?.at ?? 0, found.length - 1)
}

/** The card under the cursor. */
export function currentCard(model: Model): Card | undefined {
  const board = boardOf(model)
  const column = focusedColumn(board, model.view)
  return column && board.cards.get(column.found[cursorIn(column, model.view)] ?? '')
}

/** The selected cards that are still there, in the order in which they stand; else the card under the cursor. */
export function chosenCards(model: Model): Card[] {
  const board = boardOf(model)
  const chosen = board.columns
    .flatMap(({ ids }) => ids.filter(id => model.view.selected.has(id)))
    .map(id => board.cards.get(id))
    .filter(card => card !== undefined)
  const current = currentCard(model)
  return chosen.length > 0 ? chosen : current ? [current] : []
}

export const layoutFor = (model: Model, board = boardOf(model)): Layout =>
  layoutOf({
    size: model.size,
    columns: board.columns.length,
    focus: Math.max(
      0,
      board.columns.findIndex(({ id }) => id === model.view.focus),
    ),
    first: model.view.firstColumn,
    statusLine: model.settings.statusLine,
    isDense: model.isDense,
    hasPreview: model.hasPreview,
  })

/** Puts the cursor on a card. */
export const withCursor = (view: Model['view'], column: ShownColumn, at: number): Model['view'] => {
  const within = Math.max(0, Math.min(at, column.found.length - 1))
  return {
    ...view,
    focus: column.id,
    cursors: { ...view.cursors, [column.id]: { cardId: column.found[within], at: within } },
  }
}

/** After whatever has changed: moves that have arrived are over, the cursor is on a card, and the window shows it. */
export function settle(model: Model): Model {
  const moves = model.moves.filter(move => !hasArrived(model.cache, move))
  const settled = moves.length === model.moves.length ? model : { ...model, moves }
  const board = boardOf(settled)
  const view = withoutGone(settleView(settled, board), settled.cache)
  return view === settled.view ? settled : { ...settled, view }
}

/** Cards that are gone are not selected any more. */
function withoutGone(view: Model['view'], { cards }: CardCache): Model['view'] {
  const selected = [...view.selected].filter(id => cards.has(id))
  return selected.length === view.selected.size ? view : { ...view, selected: new Set(selected) }
}

function hasArrived({ cards }: CardCache, { cardId, doneVersion }: Move): boolean {
  const card = cards.get(cardId)
  return doneVersion !== undefined && (!card || card.version >= doneVersion)
}

function settleView(model: Model, board: ShownBoard): Model['view'] {
  let { view } = model
  const focused = focusedColumn(board, view)
  if (!focused) return view
  if (view.focus !== focused.id) view = { ...view, focus: focused.id }
  const there = view.wanted === undefined ? undefined : board.columns.find(({ found }) => found.includes(view.wanted!))
  if (there) view = { ...withCursor(view, there, there.found.indexOf(view.wanted!)), wanted: undefined }
  const layout = layoutFor({ ...model, view }, board)
  if (layout.first !== view.firstColumn) view = { ...view, firstColumn: layout.first }
  const tops = { ...view.tops }
  for (const [at] of layout.widths.entries()) {
    const column = board.columns[layout.first + at]
    if (column) tops[column.id] = topOfColumn(board, column, { ...model, view }, layout, at)
  }
  const isSame = Object.keys(tops).every(id => tops[id] === view.tops[id])
  return isSame ? view : { ...view, tops }
}

function topOfColumn(board: ShownBoard, column: ShownColumn, { view }: Model, layout: Layout, at: number): number {
  const width = textWidth(layout, at)
  const heights = (index: number) => cardHeight(board.cards.get(column.found[index]!), layout, width)
  const cursor = column.id === view.focus ? cursorIn(column, view) : -1
  return topOf(heights, column.found.length, cursor, view.tops[column.id] ?? 0, layout.innerHeight)
}
