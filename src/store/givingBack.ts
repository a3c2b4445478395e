import { open } from 'node:fs/promises'
import { translate, type Transaction } from './database.ts'
import { besideServer } from './besideServer.ts'

/**
 * Has a file that is made anew, or written anew, keep track of what it takes to be shortened piece by piece; copies of it do, too. It
 * takes the lock of writers, so it is only for a file that nobody else uses.
 */
export const givesBack = 'PRAGMA auto_vacuum = INCREMENTAL'
/** Where the header of a database file says that it does, and how long that header is. */
const [flagAt, headerBytes] = [52, 100]
/** A larger file would keep its board from starting for too long, and stays as it is. */
const maxRewrittenBytes = 512 * 1024 * 1024
/** Free pages that stay, for new rows to fill: so many, or this part of the file. */
const [reservedPages, reservedPart] = [1000, 0.1]

/**
 * Writes a file of an earlier version anew, once, so that it can give back what deletions free. Nobody may use it meanwhile.
 * @throws Problem DISK_FULL, DATABASE_DAMAGED: the file is as it was then
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
 * Shortens the file by at most `limit` of the pages that deletions have freed; a reserve stays. @returns by how many; 0 means done, also
 * of a file that gives nothing back
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
