import { chmodSync, mkdirSync, statSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { dirname, isAbsolute, join, relative, sep } from 'node:path'

/** The folder with the files of attachments, under names that the board chooses. */
export const attachmentsFolder = (dataDir: string): string => join(dataDir, 'attachments')

/** The folder with the homes of agents, their temporary folders and the server's settings for agents. */
export const agentsFolder = (dataDir: string): string => join(dataDir, 'agents')

/**
 * Creates a folder, and its missing parents, only for this account. One level at a time, because Node's own recursive function
 * never ends if a file system refuses new folders with ENOENT, as /proc does.
 */
export function makePrivateFolder(path: string): void {
  makeMissing(path)
  chmodSync(path, 0o700)
}

/**
 * Why a folder, or a file in it, cannot be created or used: in words, by the code of the file system's error. Undefined for other codes.
 */
export const folderReason = (code: string | undefined): string | undefined =>
  code === undefined ? undefined : folderReasons[code]

const folderReasons: Record<string, string> = {
  ENOENT: 'no folder can be created there',
  EACCES: 'this account cannot write there',
  EPERM: 'this account cannot write there, or does not own it',
  EROFS: 'the file system is read-only',
  ENOTDIR: 'a part of its path is a file',
  EEXIST: 'it is a file',
  EISDIR: 'it is not a file',
  EBUSY: 'it is a mount point, or in use',
  ENOSPC: 'the disk is full',
  ELOOP: 'its links form a loop',
  ENAMETOOLONG: 'its name is too long',
}

/** Resolves when the names in a folder are on disk. */
export async function syncFolder(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

function makeMissing(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return
  makeMissing(dirname(path))
  mkdirSync(path, { mode: 0o700 })
}

/** Whether a path is a folder or something below it, both without links and `..` */
export function isWithin(folder: string, path: string): boolean {
  const way = relative(folder, path)
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way)
}
