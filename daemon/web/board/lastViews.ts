import type { BoardView } from '../app/router.ts'

/** The last view of each board, by its ID, for a return from a card. */
export const lastViews = new Map<string, BoardView>()
