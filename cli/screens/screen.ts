import type { Model } from '../ui/state/model.ts'
import type { Pane } from '../ui/terminal/panes.ts'
import { boardScreen } from './boardScreen.ts'
import { cardScreen } from './cardScreen.ts'
import { dialogPane } from './dialogPane.ts'
import { footer } from './footer.ts'
import type { Theme } from './theme.ts'

/**
 * The whole terminal: the board or one of its cards, the last line, and what is asked.
 *
 * The lists of `--watch` are drawn by ink; the board is not. Measured with ink 6.8 and `incrementalRendering` on 200 x 50 cells
 * with 5 columns of 1,000 cards, processor time from a key to what is written:
 * - a moved selection takes 20 ms (p95 30) instead of 5 (p95 10), since ink takes every cell of a frame apart anew;
 * - it writes 18,500 bytes instead of 350: ink clears the terminal for each frame that fills it, and one line less still costs 2,900;
 * - ink keeps every text that it ever measured, and gives joined signs (emoji families) more cells than terminals do.
 *
 * No layout engine either: `layout.ts` decides every size already, because scrolling and the mouse need them.
 */
export const screen = (model: Model, theme: Theme): Pane[] =>
  [
    ...(model.opened ? cardScreen(model, model.opened, theme) : boardScreen(model, theme)),
    footer(model, theme),
    model.dialog && dialogPane(model, model.dialog, theme),
  ].filter(pane => pane !== undefined)
