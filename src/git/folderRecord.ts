import { lstat, realpath } from 'node:fs/promises'
import { Problem } from '../contract/errors.ts'
import { findRepository } from './repository.ts'
import type { Repository } from './workingTrees.ts'

/** A project's folder, or that of one of its repositories, with the records of the project. */
export interface ProjectFolder {
  path: string
  /** JSON of FolderRecords. */
  folderRecords: string
}

/** The folders of a project, by their paths. */
export type FolderRecords = Readonly<Record<string, FolderRecord>>
export interface FolderRecord {
  folder: Identity
  /** The Git folder that the working trees of the repository share. Null if the folder has no repository. */
  repository: Identity | null
}

interface Identity {
  path: string
  /** Null for a file system whose number differs after each mount. */
  device: string | null
  inode: string
}

/** Records folders and their repositories. Omits unreadable ones. */
export async function recordFolders(paths: readonly string[]): Promise<FolderRecords> {
  const records = await Promise.allSettled(
    paths.map(async path => [path, await read(path, await findRepository(path))] as const),
  )
  return Object.fromEntries(records.flatMap(each => (each.status === 'fulfilled' ? [each.value] : [])))
}

/** Whether a folder has a record. A project that was imported or restored has none. */
export const isRecorded = ({ path, folderRecords }: ProjectFolder): boolean =>
  recordOf(path, folderRecords) !== undefined

const recordOf = (path: string, folderRecords: string): FolderRecord | undefined =>
  (JSON.parse(folderRecords) as FolderRecords)[path]

/**
 * Ensures that a folder and its repository are those that a user chose. Agents of another project can have replaced the folder,
 * or created a repository in it or above it.
 * @throws Problem CONFLICT, or NOT_A_GIT_REPOSITORY if the repository was removed. The message explains how to confirm the
 * change.
 */
export async function requireRecorded(
  { path, folderRecords }: ProjectFolder,
  repository: Repository | undefined,
): Promise<void> {
  const before = recordOf(path, folderRecords)
  if (!before) return
  const now = await read(path, repository)
  if (!isSame(before.folder, now.folder))
    refuse('CONFLICT', `${path} is not the folder that was selected for the project.`)
  if (before.repository === null && now.repository !== null)
    refuse(
      'CONFLICT',
      `${path} was not in a Git repository when it was selected, and is now in ${now.repository.path}.`,
    )
  if (before.repository === null) return
  if (now.repository === null) refuse('NOT_A_GIT_REPOSITORY', `${path} is no longer in a Git repository.`)
  if (!isSame(before.repository, now.repository))
    refuse(
      'CONFLICT',
      `The Git repository of ${path} is not the one that was selected. It was ${before.repository.path}, and is now ${now.repository.path}.`,
    )
}

function refuse(code: 'CONFLICT' | 'NOT_A_GIT_REPOSITORY', difference: string): never {
  throw new Problem(
    code,
    `${difference} To confirm that this is right, set the path of the folder again: board projects edit --path FOLDER, or "Confirm the folder" in the settings of the project.`,
  )
}

async function read(path: string, repository: Repository | undefined): Promise<FolderRecord> {
  const real = await realpath(path)
  return { folder: await identify(real), repository: repository ? await identify(repository.commonDir) : null }
}

const isSame = (one: Identity, other: Identity): boolean =>
  one.path === other.path && one.inode === other.inode && (one.device === other.device || one.device === null)

async function identify(path: string): Promise<Identity> {
  const { dev, ino } = await lstat(path, { bigint: true })
  return { path, device: hasFixedNumber(dev) ? String(dev) : null, inode: String(ino) }
}

/** On Linux, file systems without a disk (overlay, btrfs, NFS) get another device number at each mount. Their major number is 0. */
const hasFixedNumber = (dev: bigint): boolean => process.platform !== 'linux' || ((dev >> 8n) & 0xfffn) !== 0n
