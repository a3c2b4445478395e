import { randomBytes } from 'node:crypto'
import { mkdir, open, rm, statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../async/clock.ts'
import { createSerialQueue } from '../async/serialQueue.ts'
import type { Log } from '../config/log.ts'
import type { Backup, BackupOrigin, RestoreProgress } from '../contract/server/backups.ts'
import { Problem } from '../contract/errors.ts'
import { loadArchiver, verifyArchive } from './archiver.ts'
import {
  backupsFolder,
  keepArchive,
  namesIn,
  openBackupsFolder,
  pathOf,
  readRecord,
  removeBackup,
  workPrefix,
  writeRecord,
} from './folder.ts'
import { hashFile } from './hashFile.ts'
import { makeBackup, type Source } from './makeBackup.ts'
import { backupName, timeOfName } from './names.ts'
import type { Verified } from './examineArchive.ts'

/** The backups of one data folder. Creating and reading archives is serialized. */
export interface Backups {
  /** @throws Problem DISK_FULL, DATABASE_DAMAGED, SHUTTING_DOWN */
  create(origin: BackupOrigin, withKey: boolean): Promise<Backup>
  /** Lists the backups, newest first. A file that was added manually is first verified once. */
  list(): Promise<Backup[]>
  /** A backup and its path. @throws Problem BACKUP_NOT_FOUND */
  find(filename: string): Promise<Backup & { path: string }>
  /** @throws Problem BACKUP_NOT_FOUND */
  remove(filename: string): Promise<void>
  /** Writes an upload to a file, which `admit` or `discard` removes. @throws Problem DISK_FULL */
  receive(bytes: AsyncIterable<Buffer>): Promise<string>
  /**
   * Turns an upload into a backup.
   * @param sentName the file's name, if it is a valid backup name.
   * @throws Problem INVALID_BACKUP, BACKUP_EXISTS, DISK_FULL
   */
  admit(upload: string, sentName: string | undefined): Promise<Backup>
  discard(upload: string): Promise<void>
  /** The maximum size of an upload: half of the disk's free space. */
  roomBytes(): Promise<number>
  /** Deletes all scheduled backups except the newest `keep` good ones. @returns their names */
  prune(keep: number): Promise<string[]>
  /** Runs `work` exclusively, with a temporary folder that `work` can move away. */
  runExclusive<T>(work: (folder: string, signal: AbortSignal) => Promise<T>): Promise<T>
  /** The running restore. */
  restoring?: RestoreProgress | undefined
  /** Aborts backups in progress. */
  close(): Promise<void>
}

interface BackupDependencies {
  dataDir: string
  source: Source
  clock: Clock
  log: Log
}

/** Opens the folder `backups` of a data folder, and removes unfinished work of a crashed server. */
export async function openBackups({ dataDir, source, clock, log }: BackupDependencies): Promise<Backups> {
  const folder = backupsFolder(dataDir)
  await openBackupsFolder(folder)
  // An error here occurs again, and is reported, when a backup is created.
  loadArchiver().catch(() => {
    /* Reported when a backup is created. */
  })
  const closing = new AbortController()
  const { signal } = closing
  const runExclusive = createWorkQueue(folder, signal)
  const find = async (filename: string) => ({
    path: pathOf(folder, filename),
    ...((await readRecord(folder, filename)) ??
      (await runExclusive(
        async work => (await readRecord(folder, filename)) ?? inspect(folder, filename, work, signal),
      ))),
  })
  return {
    create: (origin, withKey) =>
      runExclusive(work =>
        makeBackup(source, {
          folder,
          work,
          origin,
          withKey,
          now: clock(),
          signal,
          onMissing: names => logMissing(log, names),
        }),
      ),
    list: async () => {
      const backups: Backup[] = []
      for (const filename of await namesIn(folder)) {
        const found = await find(filename).catch(error => {
          if (error instanceof Problem && error.code === 'BACKUP_NOT_FOUND') return undefined
          throw error
        })
        if (found) backups.push(withoutPath(found))
      }
      return backups
    },
    find,
    admit: (upload, sentName) => runExclusive(work => admitUpload({ folder, work, signal }, upload, sentName)),
    runExclusive,
    remove: filename => removeBackup(folder, filename),
    receive: bytes => receive(folder, bytes),
    discard: upload => rm(upload, { force: true }),
    roomBytes: async () => {
      const { bavail, bsize } = await statfs(folder)
      return Math.floor((bavail * bsize) / 2)
    },
    prune: keep => prune(folder, keep, clock()),
    close: async () => {
      closing.abort(new Problem('SHUTTING_DOWN'))
      await runExclusive.idle()
    },
  }
}

/** Stores an upload as a backup once it is verified, under its original name if it is a valid backup name. */
async function admitUpload(
  { folder, work, signal }: { folder: string; work: string; signal: AbortSignal },
  upload: string,
  sentName: string | undefined,
): Promise<Backup> {
  const verified = await verifyArchive(upload, { work }, { signal })
  const isNamed = sentName !== undefined && timeOfName(sentName) !== undefined
  const filename = isNamed ? sentName : backupName(new Date(verified.createdAt))
  const backup = { ...describeBackup(filename, verified), origin: 'upload' as const }
  await keepArchive(folder, upload, backup)
  return backup
}

const logMissing = (log: Log, names: readonly string[]): void =>
  log('warn', 'Attachments are missing on disk, and so in the backup.', {
    names: names.slice(0, 100),
    total: names.length,
  })

const withoutPath = ({ path: _, ...backup }: Backup & { path: string }): Backup => backup

const describeBackup = (filename: string, { version, origin, withKey, size, sha256 }: Verified): Backup => ({
  filename,
  createdAt: timeOfName(filename)!,
  version,
  origin,
  verified: true,
  withKey,
  size,
  sha256,
})

/** Verifies an unknown file, and stores the result. */
async function inspect(folder: string, filename: string, work: string, signal: AbortSignal): Promise<Backup> {
  const path = pathOf(folder, filename)
  const backup = await verifyArchive(path, { work }, { signal }).then(
    verified => describeBackup(filename, verified),
    async error => {
      if (!(error instanceof Problem) || error.code !== 'INVALID_BACKUP') throw error
      return {
        filename,
        createdAt: timeOfName(filename)!,
        version: '',
        origin: 'upload' as const,
        verified: false,
        withKey: false,
        ...(await hashFile(path)),
      }
    },
  )
  await writeRecord(folder, backup)
  return backup
}

async function receive(folder: string, bytes: AsyncIterable<Buffer>): Promise<string> {
  const path = join(folder, workName(workPrefix))
  const file = await open(path, 'wx', 0o600)
  try {
    await writeFile(file, bytes)
    await file.sync()
    return path
  } catch (error) {
    await rm(path, { force: true })
    throw (error as NodeJS.ErrnoException).code === 'ENOSPC'
      ? new Problem('DISK_FULL', undefined, { cause: error, retryAfterSecs: 30 })
      : error
  } finally {
    await file.close()
  }
}

/**
 * Scheduled backups older than the `keep` newest good ones. Backups with a future time count as the oldest, because the clock was
 * set back since.
 */
async function prune(folder: string, keep: number, now: Date): Promise<string[]> {
  const removed: string[] = []
  let good = 0
  const names = await namesIn(folder)
  const isToCome = (filename: string) => Date.parse(timeOfName(filename)!) > now.getTime()
  for (const filename of [...names.filter(name => !isToCome(name)), ...names.filter(isToCome)]) {
    const backup = await readRecord(folder, filename).catch(() => undefined)
    if (backup?.origin !== 'timetable') continue
    if (good < keep) good += Number(backup.verified)
    else {
      await removeBackup(folder, filename)
      removed.push(filename)
    }
  }
  return removed
}

interface WorkQueue {
  <T>(work: (folder: string, signal: AbortSignal) => Promise<T>): Promise<T>
  idle(): Promise<void>
}

function createWorkQueue(folder: string, signal: AbortSignal): WorkQueue {
  const queue = createSerialQueue()
  const take = async <T>(work: (folder: string, signal: AbortSignal) => Promise<T>) => {
    signal.throwIfAborted()
    const path = join(folder, workName(workPrefix))
    await mkdir(path, { mode: 0o700 })
    try {
      return await work(path, signal)
    } finally {
      await rm(path, { recursive: true, force: true })
    }
  }
  const runExclusive = <T>(work: (folder: string, signal: AbortSignal) => Promise<T>) => queue(() => take(work))
  return Object.assign(runExclusive, { idle: queue.idle })
}

/** A name for a temporary folder or file. */
const workName = (prefix: string): string => prefix + randomBytes(8).toString('hex')
