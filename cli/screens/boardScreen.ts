import type { ShownBoard } from '../../src/boardModel/shownBoard.ts'
import { boardOf, layoutFor } from '../ui/state/board.ts'
import { firstTab, tabText } from '../ui/state/columnTabs.ts'
import type { Layout } from '../ui/state/layout.ts'
import type { Model } from '../ui/state/model.ts'
import type { Line, Span } from '../ui/terminal/cells.ts'
import type { Pane } from '../ui/terminal/panes.ts'
import { columnPane, placeOf } from './columnPane.ts'
import type { Theme } from './theme.ts'
import { spreadSpans, fitSpans, span } from './spans.ts'
import { previewPane } from './previewPane.ts'
import { titleBar } from './titleBar.ts'

/** Draws the board: its columns next to each other, or one at a time on narrow terminals. */
export function boardScreen(model: Model, theme: Theme): Pane[] {
  const board = boardOf(model)
  const layout = layoutFor(model, board)
  const { width } = layout.size
  const head: Pane[] = layout.isNarrow
    ? [titleBar(model, theme), { x: 0, y: 1, width, height: 1, lines: [columnTabs(model, board, layout, theme)] }]
    : [titleBar(model, theme)]
  const y = head.length
  const shown = board.columns.slice(layout.first, layout.first + layout.widths.length)
  const leftOf = (at: number) => layout.widths.slice(0, at).reduce((sum, each) => sum + each, 0)
  const columns = shown.map((column, at) => ({
    x: leftOf(at),
    y,
    ...columnPane({ board, column, layout, at, theme, view: model.view, nowMs: model.nowMs, drop: model.drag?.over }),
  }))
  const nothing: Pane = {
    x: 0,
    y,
    width: width - layout.previewWidth,
    height: layout.bodyHeight,
    lines: [{ spans: [span(` ${emptyText(model)}`, theme.palette.dim)] }],
  }
  const preview = { x: width - layout.previewWidth, y, ...previewPane(model, layout, theme) }
  return [...head, ...(columns.length > 0 ? columns : [nothing]), ...(layout.previewWidth > 0 ? [preview] : [])]
}

const emptyText = ({ project, boardId }: Model): string =>
  project.id === ''
    ? 'Choose a project.'
    : boardId === ''
      ? 'Reading ...'
      : 'This board has no columns. Add one with: board columns create'

/** Draws the column names above the current column, as many as fit. */
function columnTabs(model: Model, { columns }: ShownBoard, { size }: Layout, { palette, glyphs }: Theme): Line {
  const at = Math.max(
    0,
    columns.findIndex(({ id }) => id === model.view.focus),
  )
  const tab = (index: number): Span[] => {
    const [name, count] = tabText(columns[index]!)
    const style = index === at ? palette.focus : palette.dim
    return [span(name, index === at ? `${style};7` : style), span(count, style)]
  }
  const current = columns[at]
  const place = current && current.found.length > 0 ? [span(`${placeOf(current, model.view)} `, palette.dim)] : []
  const from = firstTab(columns, at, size.width)
  const before = from > 0 ? [span(glyphs.left, palette.accent)] : []
  const spans = columns.slice(from).flatMap((_, index) => tab(from + index))
  return spreadSpans(
    fitSpans([...before, ...spans], size.width, glyphs.right),
    place,
    size.width,
    undefined,
    glyphs.right,
  )
}
