/** The last filter and order of each board, by its ID, for a return from a card. */
export const lastViews = new Map<string, { filter: string; sort: string | undefined }>()
