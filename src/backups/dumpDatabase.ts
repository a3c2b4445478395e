import { systemClock } from '../async/clock.ts'
import { copyBoard } from '../store/engine/boardCopy.ts'
import type { Database } from '../store/engine/database.ts'
import { openDatabase } from '../store/engine/open.ts'
import { isFileReleased } from '../store/engine/connection.ts'
import { Problem } from '../contract/errors.ts'
import { migrate } from '../store/engine/migrate.ts'

/**
 * Writes a snapshot of a libSQL server's database into a new file, which every board can open.
 * @throws Problem DISK_FULL, DATABASE_BUSY if the server does not respond
 */
export async function dumpDatabase(db: Database, to: string): Promise<void> {
  const target = openDatabase({ path: to, clock: systemClock })
  try {
    await migrate(target)
    await db.snapshot(from => copyBoard(from, target, { hostOf: before => before, requireFree: async () => {} }))
  } finally {
    await target.close()
  }
  if (!(await isFileReleased(to)))
    throw new Problem('DATABASE_BUSY', 'The copy of the database is still in use. Try again.')
}
