import { constants } from 'node:fs'
import { copyFile, lstat, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { syncFolder } from '../config/folders.ts'
import { causeOf, type Log } from '../config/log.ts'
import { Problem } from '../contract/errors.ts'
import { readHeader, type DatabaseHeader } from './databaseHeader.ts'
import { backupsFolder, exists, namesIn, readRecord } from './folder.ts'
import { databaseName } from './manifest.ts'

/** The marker file of a data folder that has a database. With it, the board never starts over without a readable database. */
const markerName = 'database.json'

/**
 * Checks that the expected database of a data folder exists, without opening it, because the engine would accept an empty file as
 * a new database.
 * @throws Problem DATABASE_DAMAGED; in this case, a copy of the files was stored
 */
export async function requireDatabase(dataDir: string, log: Log): Promise<void> {
  const { reason } = await lookAtDatabase(dataDir)
  if (reason !== undefined) throw await reportDamage(dataDir, log, reason)
}

/** Whether a data folder has or had a database, and the fault that is visible without opening it. */
export async function lookAtDatabase(dataDir: string): Promise<{ isThere: boolean; reason?: string }> {
  const path = join(dataDir, databaseName)
  const header = await readHeader(path)
  const isKnown = await hadDatabase(dataDir)
  if (header !== undefined && header.sizeBytes > 0)
    return { isThere: true, reason: await findFault(path, header, isKnown) }
  return isKnown ? { isThere: true, reason: header ? 'it is empty' : 'it is missing' } : { isThere: false }
}

/** Whether the data folder has had a database. */
export const hadDatabase = (dataDir: string): Promise<boolean> => exists(join(dataDir, markerName))

/** Records that the data folder has a database from now on. */
export async function markDatabase(dataDir: string, now: Date): Promise<void> {
  const path = join(dataDir, markerName)
  if (await exists(path)) return
  await writeFile(path, `${JSON.stringify({ createdAt: now.toISOString() })}\n`, { mode: 0o600, flush: true })
  await syncFolder(dataDir)
}

/** The error about an unreadable database, with the location of a copy and of the newest backup. */
export async function reportDamage(dataDir: string, log: Log, reason: string, cause?: unknown): Promise<Problem> {
  const copy = await keepCopy(dataDir).catch((error: unknown) => {
    log('error', 'The damaged database could not be copied.', { cause: causeOf(error) })
    return undefined
  })
  const newest = await newestGood(dataDir)
  const [unknown] = newest === undefined ? await namesIn(backupsFolder(dataDir)) : []
  const advice =
    newest === undefined
      ? unknown === undefined
        ? 'There is no backup on this machine.'
        : `No backup on this machine has been verified. The newest one is ${unknown}.`
      : `The newest valid backup is ${newest}. To restore it: board backups restore ${newest}`
  log('error', 'The database is damaged. Nothing is written to it.', {
    reason,
    copy,
    newestBackup: newest,
    cause: cause === undefined ? undefined : causeOf(cause),
  })
  return new Problem(
    'DATABASE_DAMAGED',
    `The database ${databaseName} is damaged: ${reason}. Nothing is written to it${copy === undefined ? '' : `, and a copy of it is in ${copy}`}. ${advice}`,
    { retryAfterSecs: 300, cause },
  )
}

/** The filename of the newest backup that was verified. */
async function newestGood(dataDir: string): Promise<string | undefined> {
  const folder = backupsFolder(dataDir)
  for (const filename of await namesIn(folder))
    if ((await readRecord(folder, filename).catch(() => undefined))?.verified) return filename
  return undefined
}

/** Finds a fault in the header. While there is a log, the file can lack pages. */
async function findFault(path: string, header: DatabaseHeader, isKnown: boolean): Promise<string | undefined> {
  if (!header.isDatabase) return 'it is not a database'
  const logBytes = await lstat(`${path}-wal`).then(
    stats => stats.size,
    () => 0,
  )
  if (logBytes > 0) return undefined
  if (isKnown && header.schemaVersion === 0) return 'it does not contain a board'
  return header.isCounted && header.sizeBytes < header.pages * header.pageBytes ? 'it is incomplete' : undefined
}

/** Copies the files of the database into a separate folder, once for each state of them. Returns the folder's name. */
async function keepCopy(dataDir: string): Promise<string | undefined> {
  const header = await readHeader(join(dataDir, databaseName))
  if (!header || header.sizeBytes === 0) return undefined
  const name = `damaged-${header.changedAt.toISOString().replaceAll(':', '-')}-${header.sizeBytes}`
  if (await exists(join(dataDir, name))) return name
  await mkdir(join(dataDir, name), { mode: 0o700 })
  for (const file of [databaseName, `${databaseName}-wal`])
    if (await exists(join(dataDir, file)))
      await copyFile(join(dataDir, file), join(dataDir, name, file), constants.COPYFILE_FICLONE)
  await syncFolder(join(dataDir, name))
  return name
}
