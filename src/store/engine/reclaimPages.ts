import type { Transaction } from './database.ts'

/** Enables incremental shortening for a file that is being created. Copies of the file inherit it. */
export const givesBack = 'PRAGMA auto_vacuum = INCREMENTAL'
/** Free pages that stay for new rows: this number, or this fraction of the file. */
const [reservedPages, reservedPart] = [1000, 0.1]

/** Shortens the file by up to `limit` of the pages that deletions have freed; a reserve stays. Returns the number of pages: 0 if done. */
export async function giveBackPages(tx: Transaction, limit: number): Promise<number> {
  const { free, pages } = await countPages(tx)
  if (free <= Math.max(reservedPages, pages * reservedPart)) return 0
  // Each row that is read releases one page.
  await tx.all(`PRAGMA incremental_vacuum(${limit})`)
  return pages - (await countPages(tx)).pages
}

const countPages = async (tx: Transaction): Promise<{ free: number; pages: number }> =>
  (await tx.get('SELECT freelist_count AS free, page_count AS pages FROM pragma_freelist_count, pragma_page_count'))!
