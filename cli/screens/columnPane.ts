import type { ShownBoard, ShownColumn } from '../../src/boardModel/shownBoard.ts'
import { cursorIn } from '../ui/state/board.ts'
import { countOf, groupDigits } from '../ui/state/columnTabs.ts'
import { cardHeight, textWidth, type Layout } from '../ui/state/layout.ts'
import type { Model } from '../ui/state/model.ts'
import { joinStyles, type Line, type Span } from '../ui/terminal/cells.ts'
import type { Pane } from '../ui/terminal/panes.ts'
import { cardLines } from './cardLines.ts'
import type { Theme } from './theme.ts'
import { spreadSpans, fitSpans, fitText, span, widthOfSpans } from './spans.ts'

export interface ColumnProps {
  board: ShownBoard
  column: ShownColumn
  view: Model['view']
  layout: Layout
  /** The index among the visible columns. */
  at: number
  theme: Theme
  nowMs: number
  /** The position where the dragged card would be dropped. */
  drop?: { columnId: string; at: number }
}
/** The visible cards: the first one, and their number. */
interface Window {
  top: number
  count: number
}

/** A column: its name and count in the frame, the visible cards, and the position of the visible part below. */
export function columnPane(props: ColumnProps): Omit<Pane, 'x' | 'y'> {
  const { layout, at } = props
  const width = layout.widths[at]!
  const { lines, window } = windowLines(props)
  return {
    width,
    height: layout.bodyHeight - (layout.isNarrow ? 1 : 0),
    lines: layout.isNarrow ? lines : frameColumn(props, lines, window, width),
  }
}

/** The lines of the visible cards, as wide as the column's inside. */
function windowLines(props: ColumnProps): { lines: Line[]; window: Window } {
  const { board, column, view, layout, at, theme } = props
  const inside = layout.widths[at]! - (layout.isNarrow ? 0 : 2)
  const width = textWidth(layout, at)
  const cursor = column.id === view.focus ? cursorIn(column, view) : -1
  const top = view.tops[column.id] ?? 0
  const lines: Line[] = []
  let index = top
  for (; index < column.found.length && lines.length < layout.innerHeight; index++) {
    const card = board.cards.get(column.found[index]!)
    if (!card) continue
    const drawn = cardLines(card, {
      isCurrent: index === cursor,
      isSelected: view.selected.has(card.id),
      isTarget: props.drop?.columnId === column.id && props.drop.at === index,
      isDense: layout.isDense,
      columnType: column.columnType,
      inside,
      width,
      theme,
      nowMs: props.nowMs,
    })
    lines.push(...drawn)
    for (let gap = drawn.length; gap < cardHeight(card, layout, width); gap++) lines.push(blank(inside))
  }
  if (column.found.length === 0) lines.push(spreadSpans([span(` ${emptyText(column)}`, theme.palette.dim)], [], inside))
  while (lines.length < layout.innerHeight) lines.push(blank(inside))
  return { lines: lines.slice(0, layout.innerHeight), window: { top, count: index - top } }
}

const blank = (width: number): Line => ({ spans: [span(' '.repeat(width))] })
const emptyText = ({ ids, total }: ShownColumn): string =>
  ids.length > 0 ? 'Nothing here matches.' : total === 0 ? 'No cards.' : 'Reading ...'

function frameColumn(
  { column, view, drop, theme: { palette, glyphs } }: ColumnProps,
  lines: readonly Line[],
  window: Window,
  width: number,
): Line[] {
  const isFocused = drop ? drop.columnId === column.id : column.id === view.focus
  const style = isFocused ? palette.focus : palette.frame
  const [topLeft, topRight, bottomLeft, bottomRight] = glyphs.corner
  const count = countOf(column)
  const name = fitText(column.name, Math.max(1, width - count.length - 8), glyphs.ellipsis)
  const rule = (left: readonly Span[], right: readonly Span[]): Line => ({
    spans: [
      ...left,
      span(glyphs.across.repeat(Math.max(0, width - widthOfSpans(left) - widthOfSpans(right))), style),
      ...right,
    ],
  })
  const place = placeOf(column, view)
  const thumb = thumbOf(window, column.found.length, lines.length)
  const side = (y: number) =>
    thumb && y >= thumb.from && y < thumb.to
      ? span(glyphs.thumb, isFocused ? palette.focus : palette.dim)
      : span(glyphs.down, style)
  return [
    rule(
      [
        span(`${topLeft}${glyphs.across} `, style),
        span(name, isFocused ? joinStyles(palette.focus, palette.strong) : palette.strong),
        span(' '),
      ],
      [span(` ${count} `, isFocused ? palette.focus : palette.dim), span(`${glyphs.across}${topRight}`, style)],
    ),
    ...lines.map(({ spans, style: under }, y): Line => ({
      spans: [
        span(glyphs.down, style),
        ...fitSpans(spans, width - 2).map(each => ({ ...each, style: joinStyles(under, each.style) })),
        side(y),
      ],
    })),
    rule(
      [span(bottomLeft, style)],
      place === ''
        ? [span(bottomRight, style)]
        : [span(` ${place} `, palette.dim), span(`${glyphs.across}${bottomRight}`, style)],
    ),
  ]
}

/** Returns the scroll bar's position. Undefined if all cards are visible. */
function thumbOf({ top, count }: Window, all: number, height: number): { from: number; to: number } | undefined {
  if (count >= all) return undefined
  const size = Math.max(1, Math.round((count / all) * height))
  const from = Math.round((top / (all - count)) * (height - size))
  return { from, to: from + size }
}

/** The position of the cursor: `3 of 12`. */
export const placeOf = (column: ShownColumn, view: Model['view']): string =>
  column.found.length === 0
    ? ''
    : `${groupDigits(cursorIn(column, view) + 1)} of ${groupDigits(column.found.length)}${column.ids.length < column.total ? '+' : ''}`
