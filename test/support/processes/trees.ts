import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Database } from '../../../src/store/engine/database.ts'
import { openDatabase } from '../../../src/store/engine/open.ts'
import { migrate } from '../../../src/store/engine/migrate.ts'

/** A real database in a new folder, which also has scripts and outputs. */
export async function openStore(): Promise<{ db: Database; folder: string; close(): Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), 'board-test-'))
  const db = openDatabase({ path: join(folder, 'board.db'), clock: () => new Date() })
  await migrate(db)
  return {
    db,
    folder,
    close: async () => {
      await db.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** The whole environment of the trees of the tests. */
export const environment = { PATH: process.env.PATH ?? '', HOME: tmpdir() }
