import { join } from 'node:path'
import type { Clock } from '../async/clock.ts'
import type { ServerConfig } from '../config/server.ts'
import { Problem } from '../contract/errors.ts'
import { insertAuditRow, mergeAudit, type NewAuditRow } from '../store/server/audit.ts'
import { isFileReleased } from '../store/engine/connection.ts'
import type { Database } from '../store/engine/database.ts'
import { openDatabase } from '../store/engine/open.ts'
import { exists } from './folder.ts'
import { databaseName } from './manifest.ts'

/**
 * Merges the audit log of the replaced state into a restored state, and records the restore. Neither database can be open.
 * Unreadable entries of a damaged state are lost.
 * @param folder the folder of the restored state, in the data folder
 */
export async function keepAudit(
  { dataDir, clock }: Pick<ServerConfig, 'dataDir' | 'clock'>,
  folder: string,
  entry: NewAuditRow,
  isDamaged: boolean,
): Promise<void> {
  const [present, restored] = [join(dataDir, databaseName), join(dataDir, folder, databaseName)]
  const to = openDatabase({ path: restored, clock })
  try {
    if (await exists(present))
      await mergeFrom(present, to, clock).catch((error: unknown) => {
        if (!isDamaged) throw error
      })
    await to.transaction(async tx => insertAuditRow(tx, entry))
  } finally {
    await to.close()
  }
  if (
    !(await isFileReleased(restored)) ||
    (await exists(`${restored}-wal`)) ||
    ((await exists(present)) && !(await isFileReleased(present)))
  )
    throw new Problem('DATABASE_BUSY', 'The restored database is still in use. Nothing was changed. Try again.', {
      retryAfterSecs: 30,
    })
}

async function mergeFrom(path: string, to: Database, clock: Clock): Promise<void> {
  const from = openDatabase({ path, clock })
  await mergeAudit(from, to).finally(() => from.close())
}
