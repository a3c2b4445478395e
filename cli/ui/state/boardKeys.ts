import { placesAtTop } from '../../../src/boardModel/changes.ts'
import { sortNames, sorts } from '../../../src/boardModel/sort.ts'
import type { ShownBoard, ShownColumn } from '../../../src/boardModel/shownBoard.ts'
import type { ShortcutAction } from '../../../src/contract/accounts/shortcuts.ts'
import { boardOf, chosenCards, currentCard, cursorIn, focusedColumn, layoutFor, withCursor } from './board.ts'
import { cardHeight, previewFrom, previewWidthOf, textWidth } from './layout.ts'
import { moveCards, named, perform, redo, undo } from './actions.ts'
import { withNotice, toUpdate, type Model, type Update } from './model.ts'
import { openedOf } from './opened.ts'
import { emptyField, fieldOf } from './textField.ts'

/** Handles an action on the board. */
export function onBoard(model: Model, action: ShortcutAction): Update {
  const board = boardOf(model)
  const column = focusedColumn(board, model.view)
  if (!column) return toUpdate(model)
  const at = cursorIn(column, model.view)
  const next = { down: at + 1, up: at - 1, top: 0, bottom: column.found.length - 1 }[action as string]
  if (next !== undefined) return toUpdate({ ...model, view: withCursor(model.view, column, next) })
  switch (action) {
    case 'pageDown':
      return turnPage(model, column, at, cardsOnScreen(model, board, column))
    case 'pageUp':
      return turnPage(model, column, at, -cardsOnScreen(model, board, column))
    case 'left':
      return focus(model, board, column, -1)
    case 'right':
      return focus(model, board, column, 1)
    case 'moveLeft':
      return moveAside(model, board, column, -1)
    case 'moveRight':
      return moveAside(model, board, column, 1)
    case 'moveDown':
      return moveWithin(model, column, at, 1)
    case 'moveUp':
      return moveWithin(model, column, at, -1)
    case 'select':
      return select(model, column, at)
    case 'selectAll':
      return selectAll(model, column)
    case 'back':
      return toUpdate({
        ...model,
        notice: undefined,
        view: { ...model.view, ...(model.view.selected.size > 0 ? { selected: new Set<string>() } : { filter: '' }) },
      })
    case 'filter':
      return toUpdate({
        ...model,
        dialog: { kind: 'filter', field: fieldOf(model.view.filter), before: model.view.filter },
      })
    case 'add':
      return toUpdate({ ...model, dialog: { kind: 'add', columnId: column.id, title: emptyField } })
    case 'open':
      return open(model)
    case 'undo':
      return undo(model)
    case 'redo':
      return redo(model)
    case 'sort':
      return sortNext(model)
    case 'density':
      return toUpdate({ ...model, isDense: !layoutFor(model, board).isDense })
    case 'preview':
      return togglePreview(model)
    default:
      return toUpdate(model)
  }
}

function cardsOnScreen(model: Model, board: ShownBoard, column: ShownColumn): number {
  const layout = layoutFor(model, board)
  const width = textWidth(layout, board.columns.indexOf(column) - layout.first)
  const top = model.view.tops[column.id] ?? 0
  let used = 0
  let count = 0
  while (top + count < column.found.length && used <= layout.innerHeight)
    used += cardHeight(board.cards.get(column.found[top + count++]!), layout, width)
  return Math.max(1, count - 2)
}

/** Scrolls by a page, with the cursor. */
export function turnPage(model: Model, column: ShownColumn, at: number, by: number): Update {
  const top = Math.max(0, (model.view.tops[column.id] ?? 0) + by)
  return toUpdate({
    ...model,
    view: withCursor({ ...model.view, tops: { ...model.view.tops, [column.id]: top } }, column, at + by),
  })
}

function focus(model: Model, board: ShownBoard, column: ShownColumn, step: number): Update {
  const next = board.columns[board.columns.indexOf(column) + step]
  return toUpdate(next ? { ...model, view: { ...model.view, focus: next.id } } : model)
}

/** Toggles the selection of a card, and moves the cursor to the next one. */
export function select(model: Model, column: ShownColumn, at: number): Update {
  const id = column.found[at]
  if (id === undefined) return toUpdate(model)
  const selected = new Set(model.view.selected)
  if (!selected.delete(id)) selected.add(id)
  return toUpdate({ ...model, view: withCursor({ ...model.view, selected }, column, at + 1) })
}

function selectAll(model: Model, column: ShownColumn): Update {
  const isAll = column.found.every(id => model.view.selected.has(id))
  const selected = new Set(model.view.selected)
  for (const id of column.found)
    if (isAll) selected.delete(id)
    else selected.add(id)
  return toUpdate({ ...model, view: { ...model.view, selected } })
}

/** Opens the card under the cursor, with the preview's data at first. */
export function open(model: Model): Update {
  const card = currentCard(model)
  if (!card) return toUpdate(model)
  const tab = card.status === 'idle' ? 'prompt' : 'transcript'
  const known = model.preview?.cardId === card.id && model.preview.card ? model.preview : openedOf(card.id, tab)
  return toUpdate({ ...model, opened: { ...known, tab, follows: true } }, { type: 'open', cardId: card.id })
}

function sortNext(model: Model): Update {
  const sort = sorts[(sorts.indexOf(model.sort) + 1) % sorts.length]!
  return toUpdate(withNotice({ ...model, sort }, `Cards are shown ${sortNames[sort]}.`))
}

/** Refuses a move within a column: sorted columns have no manual order. */
export const refuseUnordered = (model: Model): Model =>
  withNotice(
    model,
    `The columns are sorted ${sortNames[model.sort]}. To move cards within a column, select the order of the board.`,
    true,
  )

function togglePreview(model: Model): Update {
  const hasPreview = !model.hasPreview
  if (hasPreview && previewWidthOf(model.size) === 0)
    return toUpdate(
      withNotice(
        model,
        `A preview requires a terminal with ${previewFrom} columns. This one has ${model.size.width}.`,
        true,
      ),
    )
  return toUpdate({ ...model, hasPreview, preview: undefined })
}

/** Moves the chosen cards to the top of the neighbouring column, in their order. */
function moveAside(model: Model, board: ShownBoard, column: ShownColumn, step: number): Update {
  const target = board.columns[board.columns.indexOf(column) + step]
  const cards = chosenCards(model).filter(({ id }) => !target?.ids.includes(id))
  if (!target || cards.length === 0) return toUpdate(model)
  return moveCards(model, cards, placesAtTop(cards, target), `${named(cards)} to ${target.name}`)
}

function moveWithin(model: Model, column: ShownColumn, at: number, step: number): Update {
  const neighbour = column.found[at + step]
  const card = currentCard(model)
  if (neighbour === undefined || !card) return toUpdate(model)
  if (model.sort !== 'board') return toUpdate(refuseUnordered(model))
  return perform(model, {
    type: 'move',
    places: [{ cardId: card.id, columnId: column.id, position: column.ids.indexOf(neighbour) }],
    text: `${named([card])} ${step > 0 ? 'down' : 'up'}`,
  })
}
