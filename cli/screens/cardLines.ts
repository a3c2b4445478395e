import { relativeTime } from '../output/text.ts'
import { titleLines } from '../ui/state/layout.ts'
import type { Card } from '../../src/boardModel/cardCache.ts'
import { mergedWords } from '../../src/boardModel/mergedWords.ts'
import { assigneeNames, isOverdue, startsLater } from '../../src/boardModel/plan.ts'
import { pullRequestSign } from '../../src/boardModel/pullRequests.ts'
import { joinStyles, type Line, type Span } from '../ui/terminal/cells.ts'
import { statusStyle, type Theme } from './theme.ts'
import { spreadSpans, span } from './spans.ts'

export interface CardStyling {
  isCurrent: boolean
  isSelected: boolean
  /** Whether a mouse drag would drop before this card. */
  isTarget: boolean
  /** Whether the card is drawn in one line. */
  isDense: boolean
  /** The type of the card's column. */
  columnType: string
  /** The inner width of the column, and the maximum width of the title, in cells. */
  inside: number
  width: number
  theme: Theme
  nowMs: number
}

/** The minimum width for the name of a status. Narrower lines show only its symbol. */
const minNamedStatus = 46

/**
 * Draws a card in its column: the title, and below it the number, the state of its agent or its merge, its pull request, its
 * plan, its blockers, its labels, and the time of its last change.
 */
export function cardLines(card: Card, how: CardStyling): Line[] {
  const { isDense, inside, width, nowMs, theme } = how
  const { palette, glyphs } = theme
  if (isDense) return [denseLine(card, how)]
  const row = (spans: readonly Span[], right: readonly Span[], isFirst: boolean) =>
    oneColor(
      card,
      how,
      spreadSpans([markOf(card, how, isFirst), span(' '), ...spans], right, inside, '', glyphs.ellipsis),
    )
  const status = hasBadge(card) ? [span('  '), badge(card, theme, nowMs)] : []
  const starts = startsLater(card, nowMs)
    ? [span('  '), span(`starts ${relativeTime(card.startAt!, nowMs)}`, palette.dim)]
    : []
  const request = card.pullRequest ? [span('  '), requestMark(card.pullRequest, theme)] : []
  const waits = [...(card.blocked ? [span('  '), span('waits', palette.warn)] : []), ...starts]
  const plan = planOf(card, how)
  const labels = card.labels.flatMap(label => [span('  '), span(label, palette.label)])
  const style = card.unread ? palette.strong : palette.title
  return [
    ...titleLines(card, width).map((text, at) => row([span(text, style)], [], at === 0)),
    row(
      [span(`#${card.id}`, palette.dim), ...status, ...request, ...plan, ...waits, ...labels],
      [span(`${ageOf(card, nowMs)} `, palette.dim)],
      false,
    ),
  ]
}

/** Returns the number of a card's pull request and a symbol for its worst state. */
function requestMark(request: NonNullable<Card['pullRequest']>, { palette, glyphs }: Theme): Span {
  const { failed, queued, completed } = glyphs.status
  const look = {
    good: [completed, palette.good],
    bad: [failed, palette.error],
    waits: [queued, palette.accent],
    over: ['', palette.dim],
  } as const
  const [sign, style] = look[pullRequestSign(request)]
  const number = request.number === null ? 'PR' : `PR #${request.number}`
  const state = request.state === 'open' && !request.draft ? '' : ` ${request.draft ? 'draft' : request.state}`
  return span(`${number}${state}${sign && ` ${sign}`}`, style)
}

/** The card's priority, due date and assignees. */
function planOf(card: Card, { columnType, nowMs, theme: { palette } }: CardStyling): Span[] {
  const isLate = isOverdue(card, columnType, nowMs)
  const people = assigneeNames(card)
  const due = card.dueAt === null ? undefined : `${isLate ? 'overdue' : 'due'} ${relativeTime(card.dueAt, nowMs)}`
  return [
    ...(card.priority === 'normal'
      ? []
      : [span('  '), span(card.priority, isUrgent(card) ? palette.warn : palette.dim)]),
    ...(due === undefined ? [] : [span('  '), span(due, isLate ? palette.error : palette.dim)]),
    ...(people.length === 0 ? [] : [span('  '), span(`@${people.join(' @')}`, palette.dim)]),
  ]
}
const isUrgent = ({ priority }: Card): boolean => priority === 'urgent' || priority === 'high'

/** Draws a card in one line. The title has precedence: only the number and the status are shown with it. */
function denseLine(card: Card, how: CardStyling): Line {
  const { inside, nowMs, theme } = how
  const { palette, glyphs } = theme
  const { text, style } = badge(card, theme, nowMs)
  const shown = inside < minNamedStatus ? text.split(' ')[0]! : text
  const right = hasBadge(card) ? [span(`${shown} `, style)] : []
  const title = span(card.title, card.unread ? palette.strong : palette.title)
  const left = [markOf(card, how, true), span(`#${card.id} `, palette.dim), title]
  return oneColor(card, how, spreadSpans(left, right, inside, '', glyphs.ellipsis))
}

/** Draws the lines of the card under the cursor, or of a selected card, in one color. */
function oneColor({ unread }: Card, { isCurrent, isSelected, theme: { palette } }: CardStyling, { spans }: Line): Line {
  if (!isCurrent && !isSelected) return { spans }
  const style = joinStyles(
    isSelected ? palette.selected : '',
    unread ? palette.strong : '',
    isCurrent ? palette.cursor : '',
  )
  return { spans: spans.map(({ text }) => ({ text, style: '' })), style }
}

/** Returns the mark in front of a card: selected, under the cursor, or unread. */
function markOf(
  { unread }: Card,
  { isCurrent, isSelected, isTarget, theme: { palette, glyphs } }: CardStyling,
  isFirst: boolean,
): Span {
  if (isTarget && isFirst) return span(glyphs.right, palette.accent)
  if (isSelected) return span(glyphs.selected, palette.selected)
  if (isCurrent) return span(glyphs.cursor, unread ? palette.unread : palette.accent)
  return unread && isFirst ? span(glyphs.unread, palette.unread) : span(' ')
}

/** The time since the last change, in minutes, so that it seldom changes. */
const ageOf = ({ updatedAt }: Card, nowMs: number): string =>
  nowMs - Date.parse(updatedAt) < 60_000 ? 'now' : relativeTime(updatedAt, nowMs).replace(' ago', '')

type Badged = Pick<Card, 'status' | 'statusReason' | 'monitorQuestions' | 'hasActiveAgent' | 'mergedInto'>

/** Whether a card has a badge: its agent has worked, its work is merged, or a monitor waits for a person's permission. */
export const hasBadge = ({ status, monitorQuestions, mergedInto }: Badged): boolean =>
  status !== 'idle' || monitorQuestions > 0 || mergedInto !== null

/**
 * The state of a card's agent, and whether a monitor waits for a user. For a merged card, its merge unless an agent is at
 * work. The sign of a running agent rotates once a second.
 */
export function badge(card: Badged, { palette, glyphs }: Theme, nowMs: number): Span {
  const { status, statusReason, monitorQuestions, hasActiveAgent } = card
  const merged = hasActiveAgent ? undefined : mergedWords(card)
  if (merged !== undefined && monitorQuestions === 0)
    return span(`${glyphs.status.completed} ${merged}`, statusStyle(palette, 'completed'))
  if (monitorQuestions > 0) return span(`${glyphs.status.waiting} ${status}, asks`, statusStyle(palette, 'waiting'))
  const sign =
    status === 'running' ? glyphs.busy[Math.floor(nowMs / 1000) % glyphs.busy.length]! : glyphs.status[status]
  const tells = status === 'queued' || status === 'waiting'
  const reason = tells && statusReason ? `: ${statusReason.replaceAll('_', ' ')}` : ''
  return span(`${sign} ${status}${reason}`, statusStyle(palette, status))
}
