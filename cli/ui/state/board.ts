import { cardHeight, layoutOf, textWidth, topOf, type Layout } from './layout.ts'
import type { Model } from './model.ts'
import {
  shownBoard,
  pendingMoves,
  type BoardState,
  type ShownBoard,
  type ShownColumn,
} from '../../../src/boardModel/shownBoard.ts'
import type { Card, CardCache } from '../../../src/boardModel/cardCache.ts'

let last: { state: BoardState; board: ShownBoard } | undefined

/** The visible board. Memoized: the same inputs give the same object. */
export function boardOf({
  cache,
  moves,
  view: { filter },
  sort,
}: Pick<Model, 'cache' | 'moves' | 'view' | 'sort'>): ShownBoard {
  const { state } = last ?? {}
  if (last && state?.cache === cache && state.moves === moves && state.filter === filter && state.sort === sort)
    return last.board
  const now = { cache, moves, filter, sort }
  last = { state: now, board: shownBoard(now) }
  return last.board
}

export const focusedColumn = (board: ShownBoard, { focus }: Model['view']): ShownColumn | undefined =>
  board.columns.find(({ id }) => id === focus) ?? board.columns[0]

/** The cursor's index in a column; -1 when it is empty. */
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

/** The selected cards that still exist, in board order; else the card under the cursor. */
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

/** Normalizes the model after a change: drops finished moves, puts the cursor on a card, and scrolls to it. */
export function settle(model: Model): Model {
  const moves = pendingMoves(model.cache, model.moves)
  const settled = moves === model.moves ? model : { ...model, moves }
  const board = boardOf(settled)
  const view = withoutGone(settleView(settled, board), settled.cache)
  return view === settled.view ? settled : { ...settled, view }
}

/** Deselects deleted cards. */
function withoutGone(view: Model['view'], { cards }: CardCache): Model['view'] {
  const selected = [...view.selected].filter(id => cards.has(id))
  return selected.length === view.selected.size ? view : { ...view, selected: new Set(selected) }
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
