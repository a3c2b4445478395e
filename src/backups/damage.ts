import { constants } from 'node:fs'
import { copyFile, lstat, mkdir, open, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { syncFolder } from '../config/folders.ts'
import { causeOf, type Log } from '../config/log.ts'
import { Problem } from '../contract/errors.ts'
import { backupsFolder, exists, namesIn, readRecord } from './folder.ts'
import { databaseName } from './manifest.ts'

/** A file that says that this data folder has a database: without one that can be read the board never begins anew. */
const markerName = 'database.json'
const magic = Buffer.from('SQLite format 3\0')
const headerBytes = 100

/**
 * Looks whether the database that a data folder should have is there, without opening it: the engine would take an empty file
 * for a new database.
 * @throws Problem DATABASE_DAMAGED; a copy of what is there has been kept then
 */
export async function requireDatabase(dataDir: string, log: Log): Promise<void> {
  const { reason } = await lookAtDatabase(dataDir)
  if (reason !== undefined) throw await damaged(dataDir, log, reason)
}

/** Whether a data folder has a database or had one, and what is wrong with it as far as can be seen without opening it. */
export async function lookAtDatabase(dataDir: string): Promise<{ isThere: boolean; reason?: string }> {
  const path = join(dataDir, databaseName)
  const header = await readHeader(path)
  const isKnown = await hadDatabase(dataDir)
  if (header !== undefined && header.size > 0) return { isThere: true, reason: await findFault(path, header, isKnown) }
  return isKnown ? { isThere: true, reason: header ? 'it is empty' : 'it is gone' } : { isThere: false }
}

/** Whether the data folder has had a database. */
export const hadDatabase = (dataDir: string): Promise<boolean> => exists(join(dataDir, markerName))

/** Remembers that the data folder has a database from now on. */
export async function markDatabase(dataDir: string, now: Date): Promise<void> {
  const path = join(dataDir, markerName)
  if (await exists(path)) return
  await writeFile(path, `${JSON.stringify({ createdAt: now.toISOString() })}\n`, { mode: 0o600, flush: true })
  await syncFolder(dataDir)
}

/** What is said of a database that cannot be read or written: where a copy of it is, and which backup is there. */
export async function damaged(dataDir: string, log: Log, reason: string, cause?: unknown): Promise<Problem> {
  const copy = await keepCopy(dataDir).catch((error: unknown) => {
    log('error', 'The damaged database could not be copied.', { cause: causeOf(error) })
    return undefined
  })
  const newest = await newestGood(dataDir)
  const [unknown] = newest === undefined ? await namesIn(backupsFolder(dataDir)) : []
  const advice =
    newest === undefined
      ? unknown === undefined
        ? 'There is no backup here.'
        : `No backup here is known to be good; the newest is ${unknown}.`
      : `The newest good backup is ${newest}; to put it in place: board backups restore ${newest}`
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

interface Header {
  size: number
  bytes: Buffer
  changedAt: Date
}

async function readHeader(path: string): Promise<Header | undefined> {
  const file = await open(path, 'r').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  try {
    const stats = await file?.stat()
    const bytes = Buffer.alloc(headerBytes)
    await file?.read(bytes, 0, headerBytes, 0)
    return stats && { size: stats.size, bytes, changedAt: stats.mtime }
  } finally {
    await file?.close()
  }
}

/** What the first hundred bytes tell (the format's section 1.3). While there is a log, the file may still lack pages. */
async function findFault(path: string, { size, bytes }: Header, isKnown: boolean): Promise<string | undefined> {
  if (!bytes.subarray(0, magic.length).equals(magic)) return 'it is no database'
  const pageBytes = bytes.readUInt16BE(16) === 1 ? 65_536 : bytes.readUInt16BE(16)
  const pages = bytes.readUInt32BE(28)
  const logBytes = await lstat(`${path}-wal`).then(
    stats => stats.size,
    () => 0,
  )
  if (logBytes === 0 && isKnown && bytes.readUInt32BE(60) === 0) return 'it holds no board'
  const isCounted = bytes.readUInt32BE(24) === bytes.readUInt32BE(92)
  return logBytes === 0 && isCounted && size < pages * pageBytes ? 'its end is missing' : undefined
}

/** Copies the files of the database into a folder of their own, once for each state of them. Tells the folder's name. */
async function keepCopy(dataDir: string): Promise<string | undefined> {
  const header = await readHeader(join(dataDir, databaseName))
  if (!header || header.size === 0) return undefined
  const name = `damaged-${header.changedAt.toISOString().replaceAll(':', '-')}-${header.size}`
  if (await exists(join(dataDir, name))) return name
  await mkdir(join(dataDir, name), { mode: 0o700 })
  for (const file of [databaseName, `${databaseName}-wal`])
    if (await exists(join(dataDir, file)))
      await copyFile(join(dataDir, file), join(dataDir, name, file), constants.COPYFILE_FICLONE)
  await syncFolder(join(dataDir, name))
  return name
}
