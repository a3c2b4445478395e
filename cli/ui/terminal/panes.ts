import type { Size } from './session.ts'
import { blankRow, rowOf, startOf, type Line, type Row } from './cells.ts'
import type { Frame } from './frame.ts'

/** A rectangle of the screen that shows lines, in cells from the upper left corner. */
export interface Pane {
  x: number
  y: number
  width: number
  height: number
  lines: readonly Line[]
  /** The position of the text caret, in cells from the pane's corner. */
  caret?: { x: number; y: number }
}

const rows = new WeakMap<Line, Row>()

/** Draws panes into one frame; later panes cover earlier ones. */
export function paint(panes: readonly Pane[], { width, height }: Size): Frame {
  const frame: PaintedFrame = { width, height, rows: Array.from({ length: height }, () => blankRow(width)) }
  for (const pane of panes) put(frame, pane)
  return frame
}

type PaintedFrame = Frame & { rows: Row[] }

function put(frame: PaintedFrame, { x, y, width, height, lines, caret }: Pane): void {
  const visible = Math.min(width, frame.width - x)
  for (let at = 0; at < height && y + at < frame.height; at++) {
    const line = lines[at]
    putCells(frame.rows[y + at]!, line ? cellsOf(line, width) : blankRow(width), x, visible)
  }
  if (caret && x + caret.x < frame.width && y + caret.y < frame.height) frame.caret = { x: x + caret.x, y: y + caret.y }
}

/** Overwrites cells of a row. A wide character of which one cell is overwritten becomes blank. */
function putCells(row: Row, { graphemes, styles }: Row, x: number, width: number): void {
  if (x < row.graphemes.length) row.graphemes.fill(' ', startOf(row, x), x)
  for (let at = 0; at < width; at++) {
    row.graphemes[x + at] = graphemes[at]!
    row.styles[x + at] = styles[at]!
  }
  const isCut = width < graphemes.length && graphemes[width] === ''
  if (isCut) row.graphemes.fill(' ', x + startOf({ graphemes }, width), x + width)
  for (let at = x + width; row.graphemes[at] === ''; at++) row.graphemes[at] = ' '
}

/** A line's cells, cached for as long as the same line object is drawn with the same width. */
function cellsOf(line: Line, width: number): Row {
  const known = rows.get(line)
  if (known?.graphemes.length === width) return known
  const row = rowOf(line, width)
  rows.set(line, row)
  return row
}
