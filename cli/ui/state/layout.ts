import { escapeControls } from '../../output/text.ts'
import type { Size } from '../terminal/session.ts'
import type { Card } from '../../../src/boardModel/cardCache.ts'
import { wrap } from './wrap.ts'

/** The layout for a screen size. */
export interface Layout {
  size: Size
  /** Whether only one column is visible, with a tab bar. */
  isNarrow: boolean
  /** Whether cards use one line. */
  isDense: boolean
  /** The first visible column, and the widths of the visible ones. */
  first: number
  widths: readonly number[]
  /** The width of the preview; 0 without one. */
  previewWidth: number
  /** The height of the columns with their frames, and the lines inside. */
  bodyHeight: number
  innerHeight: number
}

const narrowBelow = 80
const denseBelow = 24
const minColumnWidth = 24
/** The minimum width of a terminal with a preview. */
export const previewFrom = 130
const maxPreviewWidth = 90
const maxDialogWidth = 76

/** The inputs of the layout. */
export interface LayoutNeeds {
  size: Size
  /** The number of columns, the one that must be visible, and the first visible one so far. */
  columns: number
  focus: number
  first: number
  statusLine: boolean
  /** Undefined: depends on the space. */
  isDense?: boolean
  hasPreview: boolean
}

export function layoutOf({ size, columns, focus, first, statusLine, isDense, hasPreview }: LayoutNeeds): Layout {
  const isNarrow = size.width < narrowBelow
  const previewWidth = hasPreview ? previewWidthOf(size) : 0
  const width = size.width - previewWidth
  const bodyHeight = Math.max(1, size.height - 1 - (statusLine ? 1 : 0))
  const fitting = isNarrow ? 1 : Math.max(1, Math.min(columns, Math.floor(width / minColumnWidth)))
  const start = Math.max(0, Math.min(Math.max(first, focus - fitting + 1), focus, columns - fitting))
  const widths = Array.from(
    { length: Math.min(fitting, Math.max(1, columns)) },
    (_, at) => Math.floor(width / fitting) + (at < width % fitting ? 1 : 0),
  )
  return {
    size,
    isNarrow,
    isDense: isDense ?? size.height < denseBelow,
    first: start,
    widths,
    previewWidth,
    bodyHeight,
    innerHeight: Math.max(1, bodyHeight - (isNarrow ? 1 : 2)),
  }
}

/** The width of a preview; 0 if the terminal is too narrow. */
export const previewWidthOf = ({ width }: Size): number =>
  width < previewFrom ? 0 : Math.min(maxPreviewWidth, Math.floor(width * 0.36))

/** A dialog's frame: its width and upper left corner. */
export interface Box {
  left: number
  top: number
  width: number
}

/**
 * Returns the frame of a dialog with `lines` lines: in the upper third, or with `isLow` at the bottom, so that it
 * does not cover the text above.
 */
export function dialogBox({ width, height }: Size, lines: number, isLow = false): Box {
  const outer = Math.min(maxDialogWidth, Math.max(20, width - 4))
  const rows = lines + 2
  const top = isLow ? height - rows - 2 : Math.floor((height - rows) / 3)
  return { width: outer, left: Math.max(0, Math.floor((width - outer) / 2)), top: Math.max(0, top) }
}

/** The width of a card's text in a column. */
export const textWidth = (layout: Layout, at: number): number =>
  Math.max(4, (layout.widths[at] ?? layout.size.width) - (layout.isNarrow ? 3 : 5))

const maxTitleLines = 2
const titles = new WeakMap<Card, { width: number; lines: string[] }>()

/** A card's title in at most two lines. */
export function titleLines(card: Card, width: number): string[] {
  const known = titles.get(card)
  if (known?.width === width) return known.lines
  const lines = wrap(escapeControls(card.title), width, maxTitleLines)
  titles.set(card, { width, lines })
  return lines
}

/** The height of a card, with the empty line below it. */
export const cardHeight = (card: Card | undefined, layout: Layout, width: number): number =>
  layout.isDense || !card ? 1 : titleLines(card, width).length + 2

/**
 * The first card of a scrolled column, so that the card under the cursor (-1: none) is visible and no space at the
 * bottom is wasted.
 */
export function topOf(
  heights: (at: number) => number,
  count: number,
  cursor: number,
  top: number,
  lines: number,
): number {
  let from = Math.max(0, Math.min(top, cursor < 0 ? top : cursor, count - 1))
  const minTop = (last: number) => {
    let at = last
    for (let used = heights(last); at > 0; at--) {
      used += heights(at - 1)
      if (used > lines + 1) break
    }
    return Math.max(0, at)
  }
  if (count === 0) return 0
  if (cursor >= 0) from = Math.max(from, minTop(cursor))
  return Math.max(0, Math.min(from, Math.max(minTop(count - 1), 0)))
}
