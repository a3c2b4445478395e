import { open } from 'node:fs/promises'
import { translate, type Transaction } from './database.ts'
import { besideServer } from './besideServer.ts'

/**
 * Enables incremental shortening for a file that is being created or rewritten; copies of the file inherit it. Requires the write
 * lock, so only use it for a file that nothing else uses.
 */
export const givesBack = 'PRAGMA auto_vacuum = INCREMENTAL'
/** The offset of this flag in the header of a database file, and the length of the header. */
const [flagAt, headerBytes] = [52, 100]
/** Rewriting a larger file would delay the start of its board for too long, so it is not rewritten. */
const maxRewrittenBytes = 512 * 1024 * 1024
/** Free pages that stay for new rows: this number, or this fraction of the file. */
const [reservedPages, reservedPart] = [1000, 0.1]

/**
 * Rewrites a file of an earlier version, once, so that it can release the pages that deletions free. Nothing else can use the
 * file in the meantime.
 * @throws Problem DISK_FULL, DATABASE_DAMAGED: the file is unchanged in this case
 */
export async function letGiveBack(path: string): Promise<void> {
  if (!(await needsRewriting(path))) return
  const rewrite = [{ sql: givesBack }, { sql: 'VACUUM' }, { sql: 'PRAGMA wal_checkpoint(TRUNCATE)' }]
  await besideServer(path, query => query(rewrite)).catch(error => {
    throw translate(error)
  })
}

async function needsRewriting(path: string): Promise<boolean> {
  const file = await open(path, 'r').catch(() => undefined)
  if (!file) return false
  try {
    const { size } = await file.stat()
    const header = Buffer.alloc(headerBytes)
    const { bytesRead } = await file.read(header, 0, headerBytes, 0)
    return (
      bytesRead === headerBytes &&
      size <= maxRewrittenBytes &&
      header.toString('latin1', 0, 15) === 'SQLite format 3' &&
      header.readUInt32BE(flagAt) === 0
    )
  } finally {
    await file.close()
  }
}

/**
 * Shortens the file by up to `limit` of the pages that deletions have freed; a reserve stays. @returns the number of pages; 0
 * means done, or that the file does not support shortening
 */
export async function giveBackPages(tx: Transaction, limit: number): Promise<number> {
  const { free, pages } = await countPages(tx)
  if (free <= Math.max(reservedPages, pages * reservedPart)) return 0
  // Each row that is read is a page.
  await tx.all(`PRAGMA incremental_vacuum(${limit})`)
  return pages - (await countPages(tx)).pages
}

const countPages = async (tx: Transaction): Promise<{ free: number; pages: number }> =>
  (await tx.get('SELECT freelist_count AS free, page_count AS pages FROM pragma_freelist_count, pragma_page_count'))!
