import { Box, type DOMElement } from 'ink'
import { blankRow, rowOf, type Line, type Row } from './cells.ts'
import type { Frame } from './frame.ts'

export interface LinesProps {
  lines: readonly Line[]
  width: number
  height: number
  /** Where text is typed, in cells from the upper left corner. */
  caret?: { x: number; y: number }
}

const held = new WeakMap<DOMElement, LinesProps>()
const rows = new WeakMap<Line, Row>()

/**
 * A box that shows lines. Ink lays it out; its text does not go through ink, which takes 60 ms for the characters of a large
 * screen, keeps every text that it has measured for ever, and gives joined signs more cells than terminals do.
 */
export const Lines = (props: LinesProps) => (
  <Box
    width={props.width}
    height={props.height}
    flexShrink={0}
    ref={node => {
      if (node) held.set(node, props)
    }}
  />
)

/** What the boxes below an element show, in the order of the tree: later ones lie over earlier ones. */
export function frameOf(root: DOMElement, width: number, height: number): Frame {
  const frame: Frame & { rows: Row[] } = { width, height, rows: Array.from({ length: height }, () => blankRow(width)) }
  paint(frame, root, 0, 0)
  return frame
}

function paint(frame: Frame & { rows: Row[] }, node: DOMElement, left: number, top: number): void {
  const x = left + (node.yogaNode?.getComputedLeft() ?? 0)
  const y = top + (node.yogaNode?.getComputedTop() ?? 0)
  const shown = held.get(node)
  if (shown) put(frame, shown, x, y)
  for (const child of node.childNodes) if (child.nodeName !== '#text') paint(frame, child, x, y)
}

function put(frame: Frame & { rows: Row[] }, { lines, width, height, caret }: LinesProps, x: number, y: number): void {
  const visible = Math.min(width, frame.width - x)
  for (let at = 0; at < height && y + at < frame.height; at++) {
    const line = lines[at]
    const source = line ? cellsOf(line, width) : blankRow(width)
    frame.rows[y + at] = over(frame.rows[y + at]!, source, x, visible)
  }
  if (caret && x + caret.x < frame.width && y + caret.y < frame.height) frame.caret = { x: x + caret.x, y: y + caret.y }
}

/** A row with other cells in it. A sign of two cells that loses one becomes blank. */
function over(row: Row, { signs, styles }: Row, x: number, width: number): Row {
  if (row.signs[x] === '' && x > 0) row.signs[x - 1] = ' '
  for (let at = 0; at < width; at++) {
    row.signs[x + at] = signs[at]!
    row.styles[x + at] = styles[at]!
  }
  if (width < signs.length && signs[width] === '') row.signs[x + width - 1] = ' '
  if (row.signs[x + width] === '') row.signs[x + width] = ' '
  return row
}

function cellsOf(line: Line, width: number): Row {
  const known = rows.get(line)
  if (known?.signs.length === width) return known
  const row = rowOf(line, width)
  rows.set(line, row)
  return row
}
