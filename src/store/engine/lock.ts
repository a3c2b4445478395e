import LibsqlDatabase from 'libsql'
import { accessSync, chmodSync, constants, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { makePrivateFolder } from '../../config/folders.ts'
import { Problem } from '../../contract/errors.ts'
import { translateError } from './database.ts'

/**
 * Creates a data folder if it is missing, and locks it for this process. The operating system releases the lock when the
 * process ends.
 * @param heldByOther the message if another process holds the lock
 * @returns a function that releases the lock
 * @throws Problem SERVER_ALREADY_RUNNING, DISK_FULL, CONFLICT for an invalid lock; the file system's error, with the path of
 * the file that this account cannot use
 */
export function holdDataFolder(dataDir: string, heldByOther: () => string): () => void {
  makePrivateFolder(dataDir)
  requireUsableFiles(dataDir)
  const unlock = takeLock(join(dataDir, 'board.lock'))
  if (!unlock) throw new Problem('SERVER_ALREADY_RUNNING', heldByOther())
  return unlock
}

/** If the engine cannot use a file, its error contains neither the file's name nor the reason. */
function requireUsableFiles(dataDir: string): void {
  for (const name of readdirSync(dataDir)) {
    if (!/^board\.(db|lock)(-\w+)?$/.test(name)) continue
    const path = join(dataDir, name)
    const stat = statSync(path, { throwIfNoEntry: false })
    if (stat?.isFile() === false) throw Object.assign(new Error(`${path} is not a file`), { code: 'EISDIR', path })
    if (stat) accessSync(path, constants.R_OK | constants.W_OK)
  }
}

/** Starts an exclusive transaction on a separate file. Returns undefined if another process has it. */
function takeLock(path: string): (() => void) | undefined {
  const database = new LibsqlDatabase(path)
  try {
    chmodSync(path, 0o600)
    database.exec('BEGIN EXCLUSIVE')
  } catch (error) {
    database.close()
    const problem = translateError(error)
    if (!(problem instanceof Problem)) throw problem
    if (problem.code === 'DATABASE_BUSY') return undefined
    throw problem.code === 'DATABASE_DAMAGED'
      ? new Problem('CONFLICT', `${path} is damaged. The file contains no data. Delete it, and start again.`, {
          cause: error,
        })
      : problem
  }
  return () => {
    database.exec('ROLLBACK')
    database.close()
  }
}
