import { relativeTime } from '../text.ts'
import { titleLines } from '../ui/state/layout.ts'
import type { Card } from '../ui/state/cardCache.ts'
import type { Line, Span } from '../ui/terminal/cells.ts'
import { statusStyle, type Look } from './look.ts'
import { between, span } from './spans.ts'

export interface CardLook {
  isCurrent: boolean
  isSelected: boolean
  /** All in one line. */
  isDense: boolean
  /** The column's inside, and how wide the title may be, in cells. */
  inside: number
  width: number
  look: Look
  nowMs: number
}

/** A card in its column: the title, and below it the number, how its agent is doing, its labels, and when it last changed. */
export function cardLines(card: Card, how: CardLook): Line[] {
  const {
    isCurrent,
    isSelected,
    isDense,
    inside,
    width,
    look: { palette, glyphs },
    nowMs,
  } = how
  if (isDense) return [denseLine(card, how)]
  const under = isCurrent ? palette.cursor : ''
  const style = card.unread ? palette.strong : isSelected ? palette.selected : palette.title
  const row = (spans: readonly Span[], right: readonly Span[], isFirst: boolean) =>
    between([markOf(card, how, isFirst), span(' '), ...spans], right, inside, under, glyphs.ellipsis)
  const status = card.status === 'idle' ? [] : [span('  '), badge(card, how.look, nowMs)]
  const labels = card.labels.flatMap(label => [span('  '), span(label, palette.label)])
  return [
    ...titleLines(card, width).map((text, at) => row([span(text, style)], [], at === 0)),
    row([span(`#${card.id}`, palette.dim), ...status, ...labels], [span(`${ageOf(card, nowMs)} `, palette.dim)], false),
  ]
}

function denseLine(card: Card, how: CardLook): Line {
  const {
    isCurrent,
    isSelected,
    inside,
    look: { palette, glyphs },
    nowMs,
  } = how
  const right = card.status === 'idle' ? [] : [badge(card, how.look, nowMs), span(' ')]
  const style = card.unread ? palette.strong : isSelected ? palette.selected : palette.title
  return between(
    [markOf(card, how, true), span(`#${card.id} `, palette.dim), span(card.title, style)],
    right,
    inside,
    isCurrent ? palette.cursor : '',
    glyphs.ellipsis,
  )
}

/** What stands before a card: that it is selected, that the cursor is on it, or that nobody has read it. */
function markOf(
  { unread }: Card,
  { isCurrent, isSelected, look: { palette, glyphs } }: CardLook,
  isFirst: boolean,
): Span {
  if (isSelected) return span(glyphs.selected, palette.selected)
  if (isCurrent) return span(glyphs.cursor, unread ? palette.unread : palette.accent)
  return unread && isFirst ? span(glyphs.unread, palette.unread) : span(' ')
}

/** In minutes, so that it seldom changes. */
const ageOf = ({ updatedAt }: Card, nowMs: number): string =>
  nowMs - Date.parse(updatedAt) < 60_000 ? 'now' : relativeTime(updatedAt, nowMs).replace(' ago', '')

/** How a card's agent is doing. The sign of a running one turns once a second. */
export function badge({ status }: Pick<Card, 'status'>, { palette, glyphs }: Look, nowMs: number): Span {
  const sign =
    status === 'running' ? glyphs.busy[Math.floor(nowMs / 1000) % glyphs.busy.length]! : glyphs.status[status]
  return span(`${sign} ${status}`, statusStyle(palette, status))
}
