import { readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { version } from '../config/version.ts'
import type { Backup, BackupOrigin } from '../contract/backups.ts'
import type { AttachmentFiles } from '../domain/attachmentFiles.ts'
import { filesOfCopy, type NamedFile } from '../store/copies.ts'
import { freeTime, keepArchive } from './folder.ts'
import { hashFile } from './hashing.ts'
import { attachmentsName, databaseName, format, keyName, type Manifest, type Part } from './manifest.ts'
import { backupName } from './names.ts'
import { verifyArchive } from './verifying.ts'
import { PartChanged, writeArchive } from './writing.ts'

/** What a backup is made of. `copyDatabase` writes it, as it is at one moment, into a new file; `sealingKey` returns the key's text, if there is one. */
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
  /** Told of the attachments whose files are gone. */
  onMissing(names: string[]): void
  signal?: AbortSignal
}

/**
 * Makes a backup: a copy of the database as it is at one moment, with the files that this copy names. It gets its name once it
 * is on disk and was read again whole.
 * @throws Problem DISK_FULL, DATABASE_DAMAGED, INVALID_BACKUP when what was written does not hold
 */
export async function makeBackup(source: Source, options: MakeOptions): Promise<Backup> {
  const release = source.attachmentFiles.hold()
  try {
    const { folder, work, origin, signal } = options
    const at = await freeTime(folder, options.now)
    const copy = join(work, databaseName)
    await source.copyDatabase(copy, signal)
    const { schemaVersion, files } = await filesOfCopy(copy, signal)
    const key = options.withKey ? await copyKey(source, work) : undefined
    const { parts, missing } = await findParts(source.attachmentFiles.folder, files)
    const manifest: Manifest = {
      format,
      version,
      schemaVersion,
      createdAt: at.toISOString(),
      origin,
      missing,
      parts: [await partOf(databaseName, copy), ...(key ? [await partOf(keyName, key)] : []), ...parts],
    }
    const archive = join(work, 'archive')
    const written = await write(
      archive,
      manifest,
      ({ name }) => join(name.startsWith(attachmentsName) ? join(source.attachmentFiles.folder, '..') : work, name),
      signal,
    )
    if (manifest.missing.length > 0) options.onMissing(manifest.missing)
    await rm(copy)
    await verifyWritten(archive, written, join(work, 'verified'), signal)
    const backup: Backup = {
      filename: backupName(at),
      createdAt: manifest.createdAt,
      version,
      withKey: key !== undefined,
      origin,
      verified: true,
      ...written,
    }
    await keepArchive(folder, archive, backup)
    return backup
  } finally {
    release()
  }
}

async function copyKey(source: Source, work: string): Promise<string | undefined> {
  const text = source.sealingKey()
  if (text === undefined) return undefined
  const path = join(work, keyName)
  await writeFile(path, `${text}\n`, { mode: 0o600, flag: 'wx' })
  return path
}

/** The files that are on disk, taken to be what their rows say, and those that are gone. */
async function findParts(
  attachmentsDir: string,
  files: readonly NamedFile[],
): Promise<{ parts: Part[]; missing: string[] }> {
  const present = new Set(
    (await readdir(attachmentsDir, { withFileTypes: true })).filter(entry => entry.isFile()).map(({ name }) => name),
  )
  const all = files.map(({ name, size, sha256 }) => ({
    isPresent: present.has(name),
    part: { name: `${attachmentsName}/${name}`, size, sha256 },
  }))
  return {
    parts: all.filter(({ isPresent }) => isPresent).map(({ part }) => part),
    missing: all.filter(({ isPresent }) => !isPresent).map(({ part }) => part.name),
  }
}

const partOf = async (name: string, path: string): Promise<Part> => ({ name, ...(await hashFile(path)) })

/**
 * Writes the archive. When a file turns out to be another than its row says, all are looked at and it is written anew: what is
 * damaged is kept as it is. The manifest is changed to what was written.
 */
async function write(
  path: string,
  manifest: Manifest,
  pathOfPart: (part: Part) => string,
  signal?: AbortSignal,
): Promise<{ size: number; sha256: string }> {
  for (;;) {
    try {
      return await writeArchive(path, manifest, pathOfPart, signal)
    } catch (error) {
      if (!(error instanceof PartChanged)) throw error
      await rm(path)
      const measured = []
      for (const part of manifest.parts)
        measured.push({ name: part.name, actual: await partOf(part.name, pathOfPart(part)).catch(() => undefined) })
      manifest.parts = measured.flatMap(({ actual }) => actual ?? [])
      for (const { name, actual } of measured) if (!actual) manifest.missing.push(name)
    }
  }
}

async function verifyWritten(
  path: string,
  written: { size: number; sha256: string },
  work: string,
  signal?: AbortSignal,
): Promise<void> {
  const read = await verifyArchive(path, { work, signal })
  if (read.sha256 !== written.sha256 || read.size !== written.size)
    throw new Error('The archive that was read is not the one that was written.')
}
