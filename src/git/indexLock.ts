import { appendFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createKeyedQueue } from '../async/serialQueue.ts'
import { processMark } from '../system/kernel.ts'
import { Problem } from '../contract/errors.ts'
import type { Repository } from './workingTrees.ts'
import { readPlain } from './untrustedFiles.ts'

const maxOwnerBytes = 200

/** A worktree's index, locked in Git's own way against other Git processes. */
export interface TakenIndex {
  /** Writes the next bytes of the new index. */
  write(bytes: Buffer): Promise<void>
  /** Replaces the index with the new one, which must match the worktree. Keeps the lock. */
  install(): Promise<void>
  /** Releases the lock. A new index that was not installed is removed. */
  release(): Promise<void>
}

/** The file of a worktree's Git folder in which its next index is written. The lock itself names its owner until the end. */
export const nextIndex = 'index.board'

/** @throws Problem CONFLICT if a Git command is running there */
export async function takeIndex({ gitDir }: Pick<Repository, 'gitDir'>): Promise<TakenIndex> {
  const [lock, next] = [join(gitDir, 'index.lock'), join(gitDir, nextIndex)]
  await takeLock(lock).catch((error: unknown) => {
    throw new Problem('CONFLICT', lockedBy(lock), { cause: error })
  })
  await rm(next, { force: true })
  let isHeld = true
  return {
    write: bytes => appendFile(next, bytes, { mode: 0o644 }),
    install: () => rename(next, join(gitDir, 'index')),
    release: async () => {
      if (!isHeld) return
      isHeld = false
      await rm(next, { force: true })
      await rm(lock, { force: true })
    },
  }
}

/** The advice about a file that locks a part of a repository. */
export const lockedBy = (lock: string): string =>
  `Git is busy: ${lock} exists. Try again when Git has finished. If no Git process is running, delete this file.`

/** Takes a lock that names its owner. The lock of a killed server is taken over, because it would never be removed otherwise. */
async function takeLock(lock: string): Promise<void> {
  const writeLock = () => writeFile(lock, ownerOf(process.pid), { flag: 'wx' })
  await writeLock().catch((error: unknown) =>
    takingOver(lock, async () => {
      const owner = await readPlain(lock, maxOwnerBytes).catch(() => '')
      const pid = Number(/^board (\d+) /.exec(owner)?.[1])
      if (!pid || isPresent(pid, owner)) throw error
      await rm(lock, { force: true })
      await writeLock()
    }),
  )
}

const takingOver = createKeyedQueue()

/** A process, with the mark that distinguishes it from other processes with the same ID, if the system provides such a mark. */
const ownerOf = (pid: number): string => `board ${pid} ${processMark(pid) ?? ''}\n`

function isPresent(pid: number, owner: string): boolean {
  if (process.platform === 'linux') return ownerOf(pid) === owner
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}
