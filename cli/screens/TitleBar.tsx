import { boardOf, layoutFor } from '../ui/state/board.ts'
import type { Model } from '../ui/state/model.ts'
import type { Span } from '../ui/terminal/cells.ts'
import { Lines } from '../ui/terminal/painting.tsx'
import type { Look } from './look.ts'
import { between, span } from './spans.ts'

/** Where one is, what the agents do, and whether news arrive. */
export function TitleBar({ model, look: { palette, glyphs } }: { model: Model; look: Look }) {
  const { project, boards, boardId, live, size } = model
  const board = boards.find(({ id }) => id === boardId)
  const left = [span(` ${project.name}`, palette.strong), span(` ${glyphs.dot} ${board?.name ?? ''}`), ...columnsAside(model, glyphs)]
  const state = live === 'open' ? span(`${glyphs.live} live `, palette.good) : live === 'waiting' ? span(`${glyphs.broken} connecting again ... `, palette.error) : span(`${glyphs.broken} connecting ... `, palette.warn)
  return <Lines width={size.width} height={1} lines={[between(left, [...countsOf(model, palette), state], size.width, palette.bar, glyphs.ellipsis)]} />
}

function columnsAside(model: Model, glyphs: Look['glyphs']): Span[] {
  const board = boardOf(model)
  const { first, widths, isNarrow } = layoutFor(model, board)
  if (isNarrow || widths.length >= board.columns.length) return []
  return [span(`  ${first > 0 ? glyphs.left : ' '} columns ${first + 1}-${first + widths.length} of ${board.columns.length} ${first + widths.length < board.columns.length ? glyphs.right : ' '}`)]
}

function countsOf(model: Model, palette: Look['palette']): Span[] {
  const count = { running: 0, waiting: 0, queued: 0 }
  let unread = 0
  for (const { status, unread: isUnread } of model.shelf.cards.values()) {
    if (status === 'running' || status === 'waiting' || status === 'queued') count[status]++
    if (isUnread) unread++
  }
  const styles = { running: palette.busy, waiting: palette.warn, queued: '' }
  const agents = (['running', 'waiting', 'queued'] as const).filter(status => count[status] > 0).map(status => span(`${count[status]} ${status}  `, styles[status]))
  return [...agents, ...(unread > 0 ? [span(`${unread} unread  `, palette.unread)] : [])]
}
