import type { Model } from '../ui/state/model.ts'
import type { Pane } from '../ui/terminal/panes.ts'
import { boardScreen } from './boardScreen.ts'
import { cardScreen } from './cardScreen.ts'
import { dialogPane } from './dialogPane.ts'
import { footer } from './footer.ts'
import type { Theme } from './theme.ts'

/**
 * Draws the complete terminal: the board or a card, the last line, and the dialog.
 *
 * The lists of `--watch` are drawn by ink; the board is not. Measured with ink 6.8 and `incrementalRendering` on 200 x 50 cells with 5
 * columns of 1,000 cards, in processor time from a key press to the output:
 * - a moved selection takes 20 ms (p95 30) instead of 5 (p95 10), because ink parses every cell of a frame again;
 * - it writes 18,500 bytes instead of 350: ink clears the terminal for each full-height frame, and a frame one line shorter still costs
 *   2,900;
 * - ink keeps every text that it ever measured, and gives joined symbols (emoji families) more cells than terminals do.
 *
 * No layout engine either: `layout.ts` decides every size already, because scrolling and the mouse need them.
 */
export const screen = (model: Model, theme: Theme): Pane[] =>
  [
    ...(model.opened ? cardScreen(model, model.opened, theme) : boardScreen(model, theme)),
    footer(model, theme),
    model.dialog && dialogPane(model, model.dialog, theme),
  ].filter(pane => pane !== undefined)
