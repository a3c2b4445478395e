/** The default maximum page size of lists. */
export const pageSize = 50
/** The query of a page of this size. */
export const all = { limit: pageSize }
