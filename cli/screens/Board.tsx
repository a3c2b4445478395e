import { Box } from 'ink'
import { boardOf, layoutFor, type ShownBoard } from '../ui/state/board.ts'
import { firstTab, tabText } from '../ui/state/columnTabs.ts'
import type { Layout } from '../ui/state/layout.ts'
import type { Model } from '../ui/state/model.ts'
import type { Line, Span } from '../ui/terminal/cells.ts'
import { Lines } from '../ui/terminal/painting.tsx'
import { Column, placeOf } from './Column.tsx'
import type { Look } from './look.ts'
import { between, fitSpans, span } from './spans.ts'
import { Preview } from './Preview.tsx'
import { TitleBar } from './TitleBar.tsx'

export interface ScreenProps {
  model: Model
  look: Look
}

/** The board: its columns side by side, or one at a time where there is little room. */
export function Board({ model, look }: ScreenProps) {
  const board = boardOf(model)
  const layout = layoutFor(model, board)
  const shown = board.columns.slice(layout.first, layout.first + layout.widths.length)
  return (
    <Box flexDirection="column">
      <TitleBar model={model} look={look} />
      {layout.isNarrow && (
        <Lines width={layout.size.width} height={1} lines={[columnTabs(model, board, layout, look)]} />
      )}
      <Box>
        {shown.map((column, at) => (
          <Column
            key={column.id}
            board={board}
            column={column}
            view={model.view}
            layout={layout}
            at={at}
            look={look}
            nowMs={model.nowMs}
            drop={model.drag?.over}
          />
        ))}
        {shown.length === 0 && (
          <Lines
            width={layout.size.width - layout.previewWidth}
            height={layout.bodyHeight}
            lines={[{ spans: [span(` ${emptyText(model)}`, look.palette.dim)] }]}
          />
        )}
        {layout.previewWidth > 0 && <Preview model={model} layout={layout} look={look} />}
      </Box>
    </Box>
  )
}

const emptyText = ({ project, boardId }: Model): string =>
  project.id === ''
    ? 'Choose a project.'
    : boardId === ''
      ? 'Reading ...'
      : 'This board has no columns. Add one with: board columns create'

/** All columns' names above the one that is shown, as many as there is room for around it. */
function columnTabs(model: Model, { columns }: ShownBoard, { size }: Layout, { palette, glyphs }: Look): Line {
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
  return between(fitSpans([...before, ...spans], size.width, glyphs.right), place, size.width, undefined, glyphs.right)
}
