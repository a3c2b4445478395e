import { currentCard } from '../ui/state/board.ts'
import { tabLines } from '../ui/state/cardText.ts'
import type { Layout } from '../ui/state/layout.ts'
import type { Model } from '../ui/state/model.ts'
import type { Line } from '../ui/terminal/cells.ts'
import type { Pane } from '../ui/terminal/panes.ts'
import { aboutLine, drawTextLine } from './cardScreen.ts'
import type { Theme } from './theme.ts'
import { spreadSpans, fitSpans, span, widthOfSpans } from './spans.ts'

/** Draws the card under the cursor next to the board: its prompt, or the end of its agent's messages. */
export function previewPane(model: Model, layout: Layout, theme: Theme): Omit<Pane, 'x' | 'y'> {
  const { previewWidth: width, bodyHeight: height } = layout
  return { width, height, lines: linesOf(model, width, height, theme) }
}

function linesOf(model: Model, width: number, height: number, theme: Theme): Line[] {
  const { palette, glyphs } = theme
  const card = currentCard(model)
  const { preview } = model
  if (!card) return [rule([], width, theme)]
  const head = rule([span(` #${card.id} `, palette.strong), span(`${card.title} `)], width, theme)
  if (preview?.cardId !== card.id || !preview.card) return [head]
  const text = tabLines(preview, model.settings, width - 3)
  const room = height - 3
  const shown = preview.tab === 'transcript' ? text.slice(-room) : text.slice(0, room)
  return [
    head,
    aboutLine({ ...model, size: { ...model.size, width } }, preview, theme),
    { spans: [] },
    ...shown.map(line =>
      spreadSpans(drawTextLine(line, width - 1, theme).spans, [], width, undefined, glyphs.ellipsis),
    ),
  ]
}

function rule(spans: Line['spans'], width: number, { palette, glyphs }: Theme): Line {
  const kept = fitSpans([span(` ${glyphs.across}`, palette.frame), ...spans], width, glyphs.ellipsis)
  return { spans: [...kept, span(glyphs.across.repeat(Math.max(0, width - widthOfSpans(kept))), palette.frame)] }
}
