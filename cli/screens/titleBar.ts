import { boardOf, layoutFor } from '../ui/state/board.ts'
import { sortNames } from '../../src/boardModel/sort.ts'
import type { Model } from '../ui/state/model.ts'
import type { Span } from '../ui/terminal/cells.ts'
import type { Pane } from '../ui/terminal/panes.ts'
import type { Theme } from './theme.ts'
import { spreadSpans, span } from './spans.ts'

/** The minimum width for the complete title bar. Narrower bars show only the location. */
const minWidth = 56

/** Draws the current location, the status of the agents, and whether changes arrive. */
export function titleBar(model: Model, { palette, glyphs }: Theme): Pane {
  const { project, boards, boardId, live, size } = model
  const board = boards.find(({ id }) => id === boardId)
  const left = [
    span(` ${project.name}`, palette.strong),
    ...(board ? [span(` ${glyphs.dot} ${board.name}`)] : []),
    ...columnsAside(model, glyphs),
    ...(model.sort === 'board' ? [] : [span(`  ${sortNames[model.sort]}`, palette.strong)]),
  ]
  const state =
    live === 'open'
      ? span(`${glyphs.live} live `, palette.good)
      : live === 'waiting'
        ? span(`${glyphs.broken} connecting again ... `, palette.error)
        : span(`${glyphs.broken} connecting ... `, palette.warn)
  const right = size.width < minWidth ? [state] : [...agentsAndUnread(model, palette), state]
  const line = spreadSpans(left, right, size.width, palette.bar, glyphs.ellipsis)
  return { x: 0, y: 0, width: size.width, height: 1, lines: [line] }
}

function columnsAside(model: Model, glyphs: Theme['glyphs']): Span[] {
  const board = boardOf(model)
  const { first, widths, isNarrow } = layoutFor(model, board)
  if (isNarrow || widths.length >= board.columns.length) return []
  return [
    span(
      `  ${first > 0 ? glyphs.left : ' '} columns ${first + 1}-${first + widths.length} of ${board.columns.length} ${first + widths.length < board.columns.length ? glyphs.right : ' '}`,
    ),
  ]
}

interface Counts {
  running: number
  waiting: number
  queued: number
  unread: number
}
const counted = new WeakMap<Model['cache']['cards'], Counts>()

/** The numbers of running, waiting, queued and unread cards. Computed once per state of the cache. */
function countOf(cards: Model['cache']['cards']): Counts {
  const known = counted.get(cards)
  if (known) return known
  const count = { running: 0, waiting: 0, queued: 0, unread: 0 }
  for (const { status, unread, monitorQuestions } of cards.values()) {
    if (monitorQuestions > 0) count.waiting++
    else if (status === 'running' || status === 'waiting' || status === 'queued') count[status]++
    if (unread) count.unread++
  }
  counted.set(cards, count)
  return count
}

function agentsAndUnread(model: Model, palette: Theme['palette']): Span[] {
  const count = countOf(model.cache.cards)
  const styles = { running: palette.busy, waiting: palette.warn, queued: '' }
  const agents = (['running', 'waiting', 'queued'] as const)
    .filter(status => count[status] > 0)
    .map(status => span(`${count[status]} ${status}  `, styles[status]))
  const moving = model.moves.length > 1 ? [span(`${model.moves.length} on their way  `)] : []
  return [...moving, ...agents, ...(count.unread > 0 ? [span(`${count.unread} unread  `, palette.unread)] : [])]
}
