/** The last filter of each board, by its ID, for the way back from a card. */
export const boardFilters = new Map<string, string>()
