import { cursorIn, type ShownBoard, type ShownColumn } from '../ui/state/board.ts'
import { cardHeight, textWidth, titleLines, type Layout } from '../ui/state/layout.ts'
import type { Model } from '../ui/state/model.ts'
import type { Card } from '../ui/state/shelf.ts'
import { styled, type Line, type Span } from '../ui/terminal/cells.ts'
import { Lines } from '../ui/terminal/painting.tsx'
import { statusStyle, type Look } from './look.ts'
import { between, fitSpans, fitText, span, widthOfSpans } from './spans.ts'

export interface ColumnProps { board: ShownBoard; column: ShownColumn; view: Model['view']; layout: Layout; /** Which of the columns that are shown. */ at: number; look: Look; nowMs: number }

/** One column: its name and count in the frame, the cards of its window, and below where that window is. */
export function Column(props: ColumnProps) {
  const { layout, at } = props
  const width = layout.widths[at]!
  const cards = cardLines(props)
  return <Lines width={width} height={layout.bodyHeight - (layout.isNarrow ? 1 : 0)} lines={layout.isNarrow ? cards : framed(props, cards, width)} />
}

function framed({ column, view, look: { palette, glyphs } }: ColumnProps, cards: readonly Line[], width: number): Line[] {
  const isFocused = column.id === view.focus
  const style = isFocused ? palette.focus : palette.frame
  const [topLeft, topRight, bottomLeft, bottomRight] = glyphs.corner
  const count = countOf(column)
  const name = fitText(column.name, Math.max(1, width - count.length - 8), glyphs.ellipsis)
  const head = [span(`${topLeft}${glyphs.across} `, style), span(name, isFocused ? styled(palette.focus, palette.strong) : palette.strong), span(' ', style)]
  const tail = [span(` ${count} `, isFocused ? palette.focus : palette.dim), span(`${glyphs.across}${topRight}`, style)]
  const filler = (left: readonly Span[], right: readonly Span[]) => span(glyphs.across.repeat(Math.max(0, width - widthOfSpans(left) - widthOfSpans(right))), style)
  const foot = [span(bottomLeft, style)]
  const place = placeOf(column, view)
  const end = place === '' ? [span(bottomRight, style)] : [span(` ${place} `, palette.dim), span(`${glyphs.across}${bottomRight}`, style)]
  return [
    { spans: [...head, filler(head, tail), ...tail] },
    ...cards.map(({ spans, style: under }): Line => ({ spans: [span(glyphs.down, style), ...fitSpans(spans, width - 2).map(each => ({ ...each, style: styled(under, each.style) })), span(glyphs.down, style)] })),
    { spans: [...foot, filler(foot, end), ...end] },
  ]
}

/** `12`, `3/12` with a filter, `+` while the rest is being read. */
export const countOf = ({ found, ids, total, isWhole }: ShownColumn): string => found.length !== ids.length ? `${found.length}${isWhole ? '' : '+'}/${grouped(total)}` : grouped(total)

/** 12,345. Intl would say it too, and take milliseconds to load. */
const grouped = (count: number): string => String(count).replace(/\B(?=(\d{3})+$)/g, ',')

const placeOf = (column: ShownColumn, view: Model['view']): string => column.found.length === 0 ? '' : `${grouped(cursorIn(column, view) + 1)} of ${grouped(column.found.length)}${column.isWhole ? '' : '+'}`

/** The lines of the cards that are seen, as wide as the column's inside. */
function cardLines(props: ColumnProps): Line[] {
  const { board, column, view, layout, at, look: { palette } } = props
  const inside = layout.isNarrow ? layout.widths[at]! : layout.widths[at]! - 2
  const width = textWidth(layout, at)
  const lines: Line[] = []
  const cursor = column.id === view.focus ? cursorIn(column, view) : -1
  for (let index = view.tops[column.id] ?? 0; index < column.found.length && lines.length < layout.innerHeight; index++) {
    const card = board.cards.get(column.found[index]!)
    if (!card) continue
    const isCurrent = index === cursor
    const drawn = layout.isDense ? [denseLine(card, isCurrent, inside, props)] : cardBlock(card, isCurrent, inside, width, props)
    lines.push(...drawn)
    if (!layout.isDense && cardHeight(card, layout, width) > drawn.length) lines.push(blank(inside))
  }
  if (column.found.length === 0) lines.push(between([span(` ${emptyText(column)}`, palette.dim)], [], inside))
  while (lines.length < layout.innerHeight) lines.push(blank(inside))
  return lines.slice(0, layout.innerHeight)
}

const blank = (width: number): Line => ({ spans: [span(' '.repeat(width))] })
const emptyText = ({ ids, isWhole }: ShownColumn): string => ids.length > 0 ? 'Nothing here matches.' : isWhole ? 'No cards.' : 'Reading ...'

function cardBlock(card: Card, isCurrent: boolean, inside: number, width: number, props: ColumnProps): Line[] {
  const { look: { palette, glyphs }, view } = props
  const isSelected = view.selected.has(card.id)
  const style = isCurrent ? palette.cursor : ''
  const mark = isSelected ? span(glyphs.selected, palette.selected) : span(isCurrent ? glyphs.cursor : ' ', palette.accent)
  const [first = '', ...others] = titleLines(card, width)
  const look = card.unread ? palette.strong : isSelected ? palette.selected : palette.title
  const dot = card.unread ? [span(glyphs.unread, palette.unread)] : []
  return [
    between([mark, span(' '), span(first, look)], [...dot, span(' ')], inside, style, glyphs.ellipsis),
    ...others.map(text => between([mark, span(' '), span(text, look)], [], inside, style, glyphs.ellipsis)),
    between([mark, span(' '), ...metaOf(card, props)], [], inside, style, glyphs.ellipsis),
  ]
}

function denseLine(card: Card, isCurrent: boolean, inside: number, { look: { palette, glyphs }, view, nowMs }: ColumnProps): Line {
  const isSelected = view.selected.has(card.id)
  const mark = isSelected ? span(glyphs.selected, palette.selected) : span(isCurrent ? glyphs.cursor : ' ', palette.accent)
  const unread = card.unread ? [span(` ${glyphs.unread}`, palette.unread)] : []
  const right = [...(card.status === 'idle' ? [] : [badge(card, palette, glyphs, nowMs)]), ...unread, span(' ')]
  return between([mark, span(`#${card.id} `, palette.dim), span(card.title, card.unread ? palette.strong : isSelected ? palette.selected : palette.title)], right, inside, isCurrent ? palette.cursor : '', glyphs.ellipsis)
}

/** The card's number, how its agent is doing, and its labels. */
function metaOf(card: Card, { look: { palette, glyphs }, nowMs }: ColumnProps): Span[] {
  const status = card.status === 'idle' ? [] : [span('  '), badge(card, palette, glyphs, nowMs)]
  const labels = card.labels.flatMap(label => [span('  '), span(label, palette.label)])
  return [span(`#${card.id}`, palette.dim), ...status, ...labels]
}

/** How a card's agent is doing. The sign of a running one turns once a second. */
export function badge({ status }: Pick<Card, 'status'>, palette: Look['palette'], glyphs: Look['glyphs'], nowMs: number): Span {
  const sign = status === 'running' ? glyphs.busy[Math.floor(nowMs / 1000) % glyphs.busy.length]! : glyphs.status[status]
  return span(`${sign} ${status}`, statusStyle(palette, status))
}
