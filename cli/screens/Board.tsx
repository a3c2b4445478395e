import { Box } from 'ink'
import { boardOf, layoutFor, type ShownBoard } from '../ui/state/board.ts'
import type { Layout } from '../ui/state/layout.ts'
import type { Model } from '../ui/state/model.ts'
import type { Line, Span } from '../ui/terminal/cells.ts'
import { Lines } from '../ui/terminal/painting.tsx'
import { Column, countOf, placeOf } from './Column.tsx'
import type { Look } from './look.ts'
import { between, fitSpans, span, widthOfSpans } from './spans.ts'
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
          />
        ))}
        {shown.length === 0 && (
          <Lines
            width={layout.size.width}
            height={layout.bodyHeight}
            lines={[
              { spans: [span(' This board has no columns. Add one with: board columns create', look.palette.dim)] },
            ]}
          />
        )}
      </Box>
    </Box>
  )
}

/** All columns' names above the one that is shown, as many as there is room for around it. */
function columnTabs(model: Model, { columns }: ShownBoard, { size }: Layout, { palette, glyphs }: Look): Line {
  const at = Math.max(
    0,
    columns.findIndex(({ id }) => id === model.view.focus),
  )
  const tab = (index: number): Span[] => {
    const column = columns[index]!
    const style = index === at ? palette.focus : palette.dim
    return [span(` ${column.name} `, index === at ? `${style};7` : style), span(`${countOf(column)} `, style)]
  }
  const current = columns[at]
  const place = current && current.found.length > 0 ? [span(`${placeOf(current, model.view)} `, palette.dim)] : []
  let from = at
  let used = current ? widthOfSpans(tab(at)) : 0
  while (from > 0 && used + widthOfSpans(tab(from - 1)) < size.width * 0.6) used += widthOfSpans(tab(--from))
  const before = from > 0 ? [span(glyphs.left, palette.accent)] : []
  const spans = columns.slice(from).flatMap((_, index) => tab(from + index))
  return between(fitSpans([...before, ...spans], size.width, glyphs.right), place, size.width, undefined, glyphs.right)
}
