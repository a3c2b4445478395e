import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { MessageChannel } from 'node:worker_threads'
import { version } from '../config/version.ts'
import type { Backup, BackupOrigin } from '../contract/server/backups.ts'
import { Problem } from '../contract/errors.ts'
import type { AttachmentFiles } from '../files/attachmentFiles.ts'
import { runTask } from './archiver.ts'
import { freeTime, keepArchive } from './folder.ts'
import { databaseName, keyName } from './manifest.ts'
import { backupName } from './names.ts'
import type { Pack, Packed } from './packArchive.ts'
import type { Verified } from './examineArchive.ts'

/**
 * The source of a backup. `copyDatabase` writes a snapshot into a new file; `sealingKey` returns the key's text, if there is one.
 */
export interface Source {
  copyDatabase(to: string, signal?: AbortSignal): Promise<void>
  attachmentFiles: AttachmentFiles
  sealingKey(): string | undefined
}
export interface MakeOptions {
  folder: string
  /** An empty folder on the same disk, which the caller removes. */
  work: string
  origin: BackupOrigin
  withKey: boolean
  now: Date
  /** Called with the attachments whose files are missing. */
  onMissing(names: string[]): void
  signal?: AbortSignal
}

/**
 * Creates a backup: a snapshot of the database, with the files that the snapshot names. The archive gets its final name once it
 * is on disk and was read again completely.
 * @throws Problem DISK_FULL, DATABASE_DAMAGED, INVALID_BACKUP if the written archive fails verification
 */
export async function makeBackup(source: Source, options: MakeOptions): Promise<Backup> {
  const release = source.attachmentFiles.hold()
  try {
    const { folder, work, origin, signal } = options
    const at = await freeTime(folder, options.now)
    await source.copyDatabase(join(work, databaseName), signal)
    const archive = join(work, 'archive')
    const { missing, size, sha256, withKey } = await write(
      {
        path: archive,
        work,
        withKey: options.withKey && (await copyKey(source, work)),
        attachmentsDir: source.attachmentFiles.folder,
        createdAt: at.toISOString(),
        origin,
      },
      signal,
    )
    if (missing.length > 0) options.onMissing(missing)
    const filename = backupName(at)
    const backup = { filename, createdAt: at.toISOString(), version, withKey, origin, verified: true, size, sha256 }
    await keepArchive(folder, archive, backup)
    return backup
  } finally {
    release()
  }
}

/** @returns whether there is a key */
async function copyKey(source: Source, work: string): Promise<boolean> {
  const text = source.sealingKey()
  if (text === undefined) return false
  await writeFile(join(work, keyName), `${text}\n`, { mode: 0o600, flag: 'wx' })
  return true
}

type Written = Packed & Verified

/**
 * Writes the archive and reads it again. If a file differs from its row, all files are measured and the archive is written again
 * with damaged files unchanged.
 */
async function write(pack: Omit<Pack, 'growth' | 'isMeasured'>, signal?: AbortSignal): Promise<Written> {
  try {
    return await writeOnce({ ...pack, isMeasured: false }, signal)
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== 'INVALID_BACKUP') throw error
    await rm(pack.path, { force: true })
    return writeOnce({ ...pack, isMeasured: true }, signal)
  }
}

/** Writes the archive in one thread while another reads it. Together they take little longer than the slower one. */
async function writeOnce(pack: Omit<Pack, 'growth'>, signal?: AbortSignal): Promise<Written> {
  const failed = new AbortController()
  const either = { signal: AbortSignal.any([failed.signal, ...(signal ? [signal] : [])]) }
  const { port1, port2 } = new MessageChannel()
  const place = { database: join(pack.work, databaseName) }
  const both = [
    runTask('pack', { ...pack, growth: port1 }, either),
    runTask('verify', { path: pack.path, place, growth: port2 }, either),
  ] as const
  for (const each of both) each.catch((error: unknown) => failed.abort(error))
  const [packed, verified] = await Promise.allSettled(both)
  either.signal.throwIfAborted()
  return {
    ...(verified as PromiseFulfilledResult<Verified>).value,
    ...(packed as PromiseFulfilledResult<Packed>).value,
  }
}
