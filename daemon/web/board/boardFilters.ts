/** The last filter of each board, by its ID, for a return from a card. */
export const boardFilters = new Map<string, string>()
