import type { Contract } from '../../src/contract/index.ts'
import type { Output } from '../../src/contract/route.ts'
import type { CardDetail } from '../../src/boardModel/cardCache.ts'
import { assigneeNames, isOverdue, planFacts, startsLater } from '../../src/boardModel/plan.ts'
import { landedWords } from '../../src/boardModel/landedWords.ts'
import { mergedWords } from '../../src/boardModel/mergedWords.ts'
import { pullRequestWords } from '../../src/boardModel/pullRequests.ts'
import { reviewWords } from '../cards/cardColumns.ts'
import { relativeTime } from '../output/text.ts'
import { tabHeight, tabLines, tabWidth } from '../ui/state/cardText.ts'
import type { TextLine } from '../ui/state/textLine.ts'
import { lastTop, topOfTab } from '../ui/state/cardKeys.ts'
import type { Model } from '../ui/state/model.ts'
import { tabs, type Opened } from '../ui/state/opened.ts'
import { latestSession } from '../../src/boardModel/openedCard.ts'
import type { Line, Span } from '../ui/terminal/cells.ts'
import type { Pane } from '../ui/terminal/panes.ts'
import { badge, hasBadge } from './cardLines.ts'
import { lineStyle, type Theme } from './theme.ts'
import { spreadSpans, span } from './spans.ts'

type Session = Output<Contract['agents']['sessions']>[number]

/** Draws one card: its fields and prompt, and below it the transcript or the changes. */
export function cardScreen(model: Model, opened: Opened, theme: Theme): Pane[] {
  const { width } = model.size
  const height = tabHeight(model)
  const top = topOfTab(model, opened)
  const head = [
    titleLine(model, opened, theme),
    aboutLine(model, opened, theme),
    tabLine(model, opened, top, theme),
    ruler(width, theme),
  ]
  const lines = tabLines(opened, model.settings, tabWidth(model))
    .slice(top, top + height)
    .map(line => drawTextLine(line, width, theme))
  return [
    { x: 0, y: 0, width, height: head.length, lines: head },
    { x: 0, y: head.length, width, height, lines },
  ]
}

function titleLine({ size, cache, live, nowMs }: Model, { card, cardId }: Opened, theme: Theme): Line {
  const { palette, glyphs } = theme
  const shown = card ?? cache.cards.get(cardId)
  const state = live === 'open' ? [] : [span(` ${glyphs.broken} connecting again ... `, palette.error)]
  const status = shown && hasBadge(shown) ? [badge(shown, theme, nowMs), span(' ')] : []
  return spreadSpans(
    [span(` #${cardId} `), span(shown?.title ?? '', palette.strong)],
    [...status, ...state],
    size.width,
    palette.bar,
    glyphs.ellipsis,
  )
}

/** Draws the card's column, its people, and the usage of its agent. */
export function aboutLine(
  { size, nowMs }: Pick<Model, 'size' | 'nowMs'>,
  opened: Opened,
  { palette, glyphs }: Theme,
): Line {
  const { card } = opened
  if (!card) return { spans: [] }
  const session = latestSession(opened)
  const parts = [
    card.columnName,
    landedWords(card),
    session?.agent ?? card.agent,
    card.profile,
    session?.model ?? card.model,
    session?.mode ?? card.mode,
    session?.effort ?? card.effort,
    card.autoMode ? 'auto mode' : undefined,
    ...planParts(card, nowMs),
    startsLater(card, nowMs) ? `starts ${relativeTime(card.startAt!, nowMs)}` : undefined,
    card.blocked ? `waits for ${card.blockedBy.map(id => `#${id}`).join(', ')}` : undefined,
    card.children.total > 0 ? `${card.children.done} of ${card.children.total} parts done` : undefined,
    card.parentId === null ? undefined : `part of #${card.parentId}`,
    reviewWords(card),
    // Otherwise, the title line shows the merge.
    card.hasActiveAgent ? mergedWords(card) : undefined,
    card.pullRequest ? `pull request ${pullRequestWords(card.pullRequest)}` : undefined,
    card.statusReason && card.statusReason !== card.status ? card.statusReason.replaceAll('_', ' ') : undefined,
    card.statusReason === 'budget' ? card.lastAgentAction?.detail : undefined,
    session?.notBefore && card.status === 'queued' ? `goes on ${relativeTime(session.notBefore, nowMs)}` : undefined,
    session?.retrying ??
      (session?.silentSince ? `silent for ${relativeTime(session.silentSince, nowMs).replace(' ago', '')}` : undefined),
    nowMs - Date.parse(card.updatedAt) < 60_000 ? 'changed just now' : `changed ${relativeTime(card.updatedAt, nowMs)}`,
    card.gitBranch,
  ].filter(part => part !== null && part !== undefined && part !== '')
  const left = [
    span(` ${parts.join(` ${glyphs.dot} `)}`, palette.dim),
    ...card.labels.map(label => span(`  ${label}`, palette.label)),
  ]
  return spreadSpans(left, session ? usageOf(session, palette) : [], size.width, undefined, glyphs.ellipsis)
}

function planParts(card: CardDetail, nowMs: number): (string | undefined)[] {
  const people = assigneeNames(card)
  const isLate = isOverdue(card, card.columnType, nowMs)
  return [
    people.length > 0 ? `for ${people.join(', ')}` : undefined,
    card.dueAt === null ? undefined : `${isLate ? 'overdue' : 'due'} ${relativeTime(card.dueAt, nowMs)}`,
    ...planFacts(card),
  ]
}

function usageOf({ usage }: Session, palette: Theme['palette']): Span[] {
  if (!usage) return []
  const context =
    usage.contextUsed !== null && usage.contextSize
      ? `${Math.round((usage.contextUsed / usage.contextSize) * 100)} % of context  `
      : ''
  const cost = usage.costUsd === null ? '' : `$${usage.costUsd.toFixed(2)} `
  return [span(`${context}${cost}`, palette.dim)]
}

function tabLine(model: Model, opened: Opened, top: number, { palette, glyphs }: Theme): Line {
  const names = tabs.flatMap(tab => {
    const name = `${tab[0]!.toUpperCase()}${tab.slice(1)}`
    return [span(' '), tab === opened.tab ? span(`[${name}]`, palette.focus) : span(` ${name} `, palette.dim)]
  })
  const last = lastTop(model, opened)
  const isFollowing = opened.tab === 'transcript' && opened.follows && opened.card?.hasActiveAgent
  const place =
    last === 0
      ? ''
      : `${top > 0 ? glyphs.up : ' '}${top < last ? glyphs.below : ' '} ${Math.round((top / last) * 100)} % `
  return spreadSpans(
    names,
    [span(isFollowing ? 'following ' : '', palette.good), span(place, palette.dim)],
    model.size.width,
  )
}

const ruler = (width: number, { palette, glyphs }: Theme): Line => ({
  spans: [span(glyphs.across.repeat(width), palette.frame)],
})

/** Draws a line of a tab. */
export function drawTextLine({ kind, text, aside }: TextLine, width: number, { palette, glyphs }: Theme): Line {
  const style = lineStyle(palette, kind)
  const sign =
    kind === 'toolGoing'
      ? glyphs.status.queued
      : kind === 'toolDone'
        ? glyphs.status.completed
        : kind === 'toolFailed'
          ? glyphs.status.failed
          : undefined
  const head = sign === undefined ? [span(' ')] : [span(` ${sign} `, style)]
  return spreadSpans(
    [...head, span(text, style)],
    aside === undefined ? [] : [span(`${aside} `, palette.dim)],
    width,
    undefined,
    glyphs.ellipsis,
  )
}
