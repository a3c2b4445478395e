import { lstat, open, readdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import * as v from 'valibot'
import { makePrivateFolder, syncFolder } from '../config/folders.ts'
import { Backup } from '../contract/server/backups.ts'
import { Problem } from '../contract/errors.ts'
import { backupName, timeOfName } from './names.ts'

/**
 * The stored properties of a backup, in a file next to it, so that a list opens no archive. They are valid only for the file with
 * that size and modification time.
 */
const Record = v.object({ ...Backup.entries, changedAtSecs: v.number() })

/** The folder in a data folder that contains the backups. */
export const backupsFolder = (dataDir: string): string => join(dataDir, 'backups')

/** The path of a backup. @throws Problem BACKUP_NOT_FOUND for a name that no backup has */
export function pathOf(folder: string, filename: string): string {
  if (timeOfName(filename) === undefined) throw new Problem('BACKUP_NOT_FOUND')
  return join(folder, filename)
}

const recordPath = (folder: string, filename: string) => join(folder, filename.replace(/\.tar\.gz$/, '.json'))

/** The names of the backups, newest first. Ignores other names, and everything except plain files. */
export async function namesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  return entries
    .filter(entry => entry.isFile() && timeOfName(entry.name) !== undefined)
    .map(({ name }) => name)
    .sort()
    .reverse()
}

/** The stored properties of a backup, if they match the current file. @throws Problem BACKUP_NOT_FOUND */
export async function readRecord(folder: string, filename: string): Promise<Backup | undefined> {
  const stats = await lstat(pathOf(folder, filename)).catch(() => undefined)
  if (!stats?.isFile()) throw new Problem('BACKUP_NOT_FOUND')
  const { success, output } = v.safeParse(
    Record,
    await readFile(recordPath(folder, filename), 'utf8')
      .then(text => JSON.parse(text) as unknown)
      .catch(() => undefined),
  )
  if (!success || output.filename !== filename || output.size !== stats.size || output.changedAtSecs !== secsOf(stats))
    return undefined
  const { changedAtSecs: _, ...backup } = output
  return backup
}

/** Stores the properties of the backup in this file. */
export async function writeRecord(
  folder: string,
  backup: Backup,
  path = pathOf(folder, backup.filename),
): Promise<void> {
  const changedAtSecs = secsOf(await lstat(path))
  const target = recordPath(folder, backup.filename)
  const file = await open(`${target}.new`, 'w', 0o600)
  try {
    await file.writeFile(JSON.stringify({ ...backup, changedAtSecs }))
  } finally {
    await file.close()
  }
  await rename(`${target}.new`, target)
}

/** Renames a verified archive to its final name, durably on disk. With this name, the archive is a backup. @throws Problem BACKUP_EXISTS */
export async function keepArchive(folder: string, path: string, backup: Backup): Promise<void> {
  if (await exists(pathOf(folder, backup.filename))) throw new Problem('BACKUP_EXISTS')
  await writeRecord(folder, backup, path)
  await rename(path, pathOf(folder, backup.filename))
  await syncFolder(folder)
}

/** An unused backup name: that of this time, or of the next free millisecond. */
export async function freeTime(folder: string, wanted: Date): Promise<Date> {
  for (let at = wanted; ; at = new Date(at.getTime() + 1)) if (!(await exists(join(folder, backupName(at))))) return at
}

/** @throws Problem BACKUP_NOT_FOUND */
export async function removeBackup(folder: string, filename: string): Promise<void> {
  const path = pathOf(folder, filename)
  if (!(await lstat(path).catch(() => undefined))?.isFile()) throw new Problem('BACKUP_NOT_FOUND')
  await rm(path)
  await rm(recordPath(folder, filename), { force: true })
  await syncFolder(folder)
}

/** Creates the folder, and removes the unfinished files of a server that died. */
export async function openBackupsFolder(folder: string): Promise<void> {
  makePrivateFolder(folder)
  const present = new Set(await namesIn(folder))
  for (const name of await readdir(folder)) {
    const isOrphan =
      name.startsWith('board-') && name.endsWith('.json') && !present.has(name.replace(/\.json$/, '.tar.gz'))
    if (name.startsWith(workPrefix) || name.endsWith('.json.new') || isOrphan)
      await rm(join(folder, name), { recursive: true, force: true })
  }
}

/** The name prefix of temporary files and folders. */
export const workPrefix = '.work-'

/** Copies of a file keep the time to at least the second. */
const secsOf = ({ mtimeMs }: { mtimeMs: number }) => Math.floor(mtimeMs / 1000)

/** Whether a file or folder with this name exists. */
export const exists = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  )
