import type { ShownColumn } from '../../../src/boardModel/shownBoard.ts'
import type { Mouse } from '../terminal/mouse.ts'
import { moveCards, named, perform } from './actions.ts'
import { placesAtTop, placesBefore } from '../../../src/boardModel/changes.ts'
import { boardOf, chosenCards, cursorIn, withCursor } from './board.ts'
import { open, select, turnPage, refuseUnordered } from './boardKeys.ts'
import { scroll } from './cardKeys.ts'
import { dismissDialog } from './dialogs.ts'
import { toUpdate, type Drag, type Model, type PickDialog, type Update } from './model.ts'
import type { Opened } from './opened.ts'
import { pickItems } from './pickItems.ts'
import { choosePicked } from './pickKeys.ts'
import { pickItemAt, hitTest, tabNameAt, type Spot } from './hitTest.ts'

const wheelLines = 3

/** Handles the mouse: a click moves the cursor or opens the card under it, the wheel scrolls, a drag moves cards. */
export function onMouse(model: Model, mouse: Mouse): Update {
  const step = mouse.type === 'wheelUp' ? -1 : mouse.type === 'wheelDown' ? 1 : 0
  if (model.dialog) return onDialogMouse(model, mouse, step)
  if (model.opened) return inCard(model, model.opened, mouse, step)
  if (step !== 0) return wheel(model, mouse, step)
  if (mouse.button !== 'left') return toUpdate(model)
  if (mouse.type === 'press') return onPress(model, mouse)
  if (mouse.type === 'drag') return onDrag(model, mouse)
  return onRelease(model, mouse)
}

function onDialogMouse(model: Model, mouse: Mouse, step: number): Update {
  const dialog = model.dialog!
  if (dialog.kind === 'help' && step !== 0)
    return toUpdate({ ...model, dialog: { ...dialog, top: Math.max(0, dialog.top + step * wheelLines) } })
  if (dialog.kind !== 'pick') return toUpdate(model)
  if (step !== 0) {
    const at = Math.max(0, Math.min(dialog.at + step, pickItems(model, dialog).length - 1))
    return toUpdate({ ...model, dialog: { ...dialog, at } })
  }
  return mouse.type === 'press' && mouse.button === 'left' ? clickInPick(model, dialog, mouse) : toUpdate(model)
}

function clickInPick(model: Model, dialog: PickDialog, { x, y }: Mouse): Update {
  const at = pickItemAt(model, dialog, x, y)
  if (at === 'outside') return dismissDialog(model, dialog)
  const item = at === undefined ? undefined : pickItems(model, dialog)[at]
  return item ? choosePicked(model, { ...dialog, at: at as number }, item) : toUpdate(model)
}

function inCard(model: Model, opened: Opened, { type, button, x, y }: Mouse, step: number): Update {
  if (step !== 0) return scroll(model, opened, step * wheelLines)
  const tab = type === 'press' && button === 'left' ? tabNameAt(x, y) : undefined
  return toUpdate(tab ? { ...model, opened: { ...opened, tab } } : model)
}

/** Scrolls the column below the mouse; in the focused one, the cursor moves along. */
function wheel(model: Model, { x, y }: Mouse, step: number): Update {
  const column = columnAt(model, hitTest(model, x, y))
  if (!column) return toUpdate(model)
  if (column.id === model.view.focus) return turnPage(model, column, cursorIn(column, model.view), step)
  const top = Math.max(0, (model.view.tops[column.id] ?? 0) + step)
  return toUpdate({ ...model, view: { ...model.view, tops: { ...model.view.tops, [column.id]: top } } })
}

const columnAt = (model: Model, spot: Spot | undefined): ShownColumn | undefined =>
  spot && boardOf(model).columns.find(({ id }) => id === spot.columnId)

/** A click moves the cursor. A click on the card under the cursor opens the card. With Ctrl, a click toggles the selection. */
function onPress(model: Model, { x, y, ctrl }: Mouse): Update {
  const idle = { ...model, drag: undefined }
  const spot = hitTest(model, x, y)
  const column = columnAt(model, spot)
  if (!spot || !column) return toUpdate(idle)
  if (spot.cardId === undefined) return toUpdate({ ...idle, view: { ...model.view, focus: column.id } })
  if (ctrl) return select(idle, column, spot.at)
  const wasCurrent = column.id === model.view.focus && cursorIn(column, model.view) === spot.at
  const there = { ...idle, view: withCursor(model.view, column, spot.at) }
  const isChosen = model.view.selected.has(spot.cardId)
  const cardIds = isChosen ? chosenCards(model).map(({ id }) => id) : [spot.cardId]
  return toUpdate({ ...there, drag: { cardIds, x, y, wasCurrent } })
}

function onDrag(model: Model, { x, y }: Mouse): Update {
  const { drag } = model
  if (!drag || (!drag.over && drag.x === x && drag.y === y)) return toUpdate(model)
  const spot = hitTest(model, x, y)
  return toUpdate({
    ...model,
    drag: { ...drag, wasCurrent: false, over: spot && { columnId: spot.columnId, at: spot.at } },
  })
}

/** A release without a drag is a click. */
function onRelease(model: Model, mouse: Mouse): Update {
  const { drag } = model
  if (!drag) return toUpdate(model)
  const idle = { ...model, drag: undefined }
  if (drag.wasCurrent) return open(idle)
  return drag.over ? dropCards(onDrag(model, mouse).model, drag) : toUpdate(idle)
}

function dropCards(model: Model, { cardIds }: Drag): Update {
  const { over } = model.drag!
  const idle = { ...model, drag: undefined }
  const board = boardOf(model)
  const column = board.columns.find(({ id }) => id === over?.columnId)
  const cards = cardIds.flatMap(id => board.cards.get(id) ?? [])
  if (!over || !column || cards.length === 0) return toUpdate(idle)
  const moving = new Set(cardIds)
  const text = `${named(cards)} to ${column.name}`
  if (model.sort !== 'board') {
    if (cards.every(({ id }) => column.ids.includes(id))) return toUpdate(refuseUnordered(idle))
    return moveCards(idle, cards, placesAtTop(cards, column), text)
  }
  const places = placesBefore(cards, column, anchorOf(column, over.at, moving))
  if (cards.length === 1 && column.ids[places[0]!.position] === cards[0]!.id) return toUpdate(idle)
  return column.ids.some(id => moving.has(id)) && cards.length === 1
    ? perform(idle, { type: 'move', places, text: `${named(cards)} within ${column.name}` })
    : moveCards(idle, cards, places, text)
}

/**
 * The card before which a drop inserts: the card under the mouse, or the card below it if the dragged card comes from above.
 */
function anchorOf({ ids, found }: ShownColumn, at: number, moving: ReadonlySet<string>): string | undefined {
  const over = found[at]
  if (over === undefined) return undefined
  const from = ids.indexOf(over)
  const start = ids.findIndex(id => moving.has(id))
  const isDown = start >= 0 && start < from && !moving.has(over)
  return ids.slice(isDown ? from + 1 : from).find(id => !moving.has(id))
}
