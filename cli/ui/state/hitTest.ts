import type { ShownBoard } from '../../../src/boardModel/shownBoard.ts'
import { boardOf, layoutFor } from './board.ts'
import { tabAt } from './columnTabs.ts'
import { cardHeight, dialogBox, textWidth } from './layout.ts'
import type { Model, PickDialog } from './model.ts'
import { pickItems, pickRows, pickTop } from './pickItems.ts'
import { tabs, type Tab } from './opened.ts'
import { widthOf } from '../../output/text.ts'

/** A hit on the board: a card, or space in a column, with the index for a card dropped there. */
export interface Spot {
  columnId: string
  at: number
  cardId?: string
}

/** The title bar, and the frame or the names of the columns. */
const linesAbove = 2

/** The hit on the board in a cell of the screen. */
export function hitTest(model: Model, x: number, y: number): Spot | undefined {
  const board = boardOf(model)
  const layout = layoutFor(model, board)
  if (y < 1 || y > layout.bodyHeight) return undefined
  if (layout.isNarrow && y === 1) {
    const tab = tabAt(
      board.columns,
      Math.max(
        0,
        board.columns.findIndex(({ id }) => id === model.view.focus),
      ),
      model.size.width,
      x,
    )
    return tab && { columnId: tab.id, at: 0 }
  }
  let left = 0
  for (const [at, width] of layout.widths.entries()) {
    const column = board.columns[layout.first + at]
    if (column && x >= left && x < left + width) return spotIn(model, board, layout.first + at, y - linesAbove)
    left += width
  }
  return undefined
}

function spotIn(model: Model, board: ShownBoard, index: number, line: number): Spot {
  const column = board.columns[index]!
  const layout = layoutFor(model, board)
  const width = textWidth(layout, index - layout.first)
  let at = model.view.tops[column.id] ?? 0
  if (line < 0) return { columnId: column.id, at }
  for (let below = 0; at < column.found.length && below < layout.innerHeight; at++) {
    below += cardHeight(board.cards.get(column.found[at]!), layout, width)
    if (line < below) return { columnId: column.id, at, cardId: column.found[at] }
  }
  return { columnId: column.id, at }
}

/** The item of a pick list in a cell; `outside` when the cell is not in the dialog. */
export function pickItemAt(model: Model, dialog: PickDialog, x: number, y: number): number | 'outside' | undefined {
  const rows = pickRows(model.size)
  const box = dialogBox(model.size, rows + pickHead)
  if (x < box.left || x >= box.left + box.width || y < box.top || y > box.top + rows + pickHead + 1) return 'outside'
  const row = y - box.top - 1 - pickHead
  const count = pickItems(model, dialog).length
  const at = pickTop(dialog.at, count, rows) + row
  return row >= 0 && row < rows && at < count ? at : undefined
}

/** The lines above the items: the input and an empty one. */
const pickHead = 2

/** The tab of an opened card whose name is in a cell. */
export function tabNameAt(x: number, y: number): Tab | undefined {
  if (y !== 2) return undefined
  let left = 1
  for (const tab of tabs) {
    const width = widthOf(tab) + 2
    if (x >= left && x < left + width) return tab
    left += width + 1
  }
  return undefined
}
