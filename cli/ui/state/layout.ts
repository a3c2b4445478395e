import { harmless } from '../../text.ts'
import type { Size } from '../terminal/session.ts'
import type { Card } from './cardCache.ts'
import { wrap } from './wrap.ts'

/** Where everything stands on a screen of a size. */
export interface Layout {
  size: Size
  /** One column at a time, with the names of all above it. */
  isNarrow: boolean
  /** A card takes one line. */
  isDense: boolean
  /** The first column that is shown, and how wide those that are shown are. */
  first: number
  widths: readonly number[]
  /** The height of the columns with their frames, and how many lines of cards are in one. */
  bodyHeight: number
  innerHeight: number
}

const narrowBelow = 80
const denseBelow = 24
const minColumnWidth = 24

/** @param focus the column that has to be seen, `first` the one that was the first so far */
export function layoutOf(size: Size, columns: number, focus: number, first: number, statusLine: boolean): Layout {
  const { width, height } = size
  const isNarrow = width < narrowBelow
  const bodyHeight = Math.max(1, height - 1 - (statusLine ? 1 : 0))
  const fitting = isNarrow ? 1 : Math.max(1, Math.min(columns, Math.floor(width / minColumnWidth)))
  const start = Math.max(0, Math.min(Math.max(first, focus - fitting + 1), focus, columns - fitting))
  const widths = Array.from(
    { length: Math.min(fitting, Math.max(1, columns)) },
    (_, at) => Math.floor(width / fitting) + (at < width % fitting ? 1 : 0),
  )
  return {
    size,
    isNarrow,
    isDense: height < denseBelow,
    first: start,
    widths,
    bodyHeight,
    innerHeight: Math.max(1, bodyHeight - (isNarrow ? 1 : 2)),
  }
}

/** How wide a card's text may be in a column. */
export const textWidth = (layout: Layout, at: number): number =>
  Math.max(4, (layout.widths[at] ?? layout.size.width) - (layout.isNarrow ? 3 : 5))

const maxTitleLines = 2
const titles = new WeakMap<Card, { width: number; lines: string[] }>()

/** A card's title in at most two lines. */
export function titleLines(card: Card, width: number): string[] {
  const known = titles.get(card)
  if (known?.width === width) return known.lines
  const lines = wrap(harmless(card.title), width, maxTitleLines)
  titles.set(card, { width, lines })
  return lines
}

/** How many lines a card takes, with the empty one below it. */
export const cardHeight = (card: Card | undefined, layout: Layout, width: number): number =>
  layout.isDense || !card ? 1 : titleLines(card, width).length + 2

/** The first card of a window of so many lines that shows the one under the cursor and leaves no room below that cards could fill. */
export function topOf(
  heights: (at: number) => number,
  count: number,
  cursor: number,
  top: number,
  lines: number,
): number {
  let from = Math.max(0, Math.min(top, cursor, count - 1))
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
