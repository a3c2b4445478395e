import { appendFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createKeyedQueue } from '../async/serialQueue.ts'
import { processMark } from '../system/kernel.ts'
import { Problem } from '../contract/errors.ts'
import { readHead, type WorkingTree } from './workingTrees.ts'
import { readPlain } from './untrustedFiles.ts'

const maxOwnerBytes = 200

/** A worktree's index, locked in Git's own way against other Git processes. */
export interface TakenIndex {
  /** Writes the next bytes of the new index. */
  write(bytes: Buffer): Promise<void>
  /** Records that HEAD moves to a commit, which the new index matches. If the server is killed before `install`, the next owner installs it. */
  announce(commit: string): Promise<void>
  /** Replaces the index with the new one, which must match the worktree. Keeps the lock. */
  install(): Promise<void>
  /** Releases the lock. A new index that was not installed is removed. */
  release(): Promise<void>
}

/** The file of a worktree's Git folder in which its next index is written. The lock itself names its owner until the end. */
export const nextIndex = 'index.board'

/** @throws Problem CONFLICT if a Git command is running there */
export async function takeIndex(place: WorkingTree): Promise<TakenIndex> {
  const [lock, next] = [join(place.gitDir, 'index.lock'), join(place.gitDir, nextIndex)]
  await takeLock(place, lock).catch((error: unknown) => {
    throw new Problem('CONFLICT', lockedBy(lock), { cause: error })
  })
  await rm(next, { force: true })
  let isHeld = true
  return {
    write: bytes => appendFile(next, bytes, { mode: 0o644 }),
    announce: commit => writeFile(lock, `${ownerOf(process.pid)}${commit}\n`),
    install: () => rename(next, join(place.gitDir, 'index')),
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

/** Completes what a killed server has begun with the index of a worktree. Does nothing if there is no such server. */
export async function recoverIndex(place: WorkingTree): Promise<void> {
  const owner = await readOwner(join(place.gitDir, 'index.lock'))
  if (isLeft(owner)) await (await takeIndex(place)).release()
}

const readOwner = (lock: string): Promise<string> => readPlain(lock, maxOwnerBytes).catch(() => '')

/** Whether a lock belongs to a server that no longer runs. */
function isLeft(owner: string): boolean {
  const pid = Number(/^board (\d+) /.exec(owner)?.[1])
  return pid > 0 && !isPresent(pid, owner.slice(0, owner.indexOf('\n') + 1))
}

/**
 * Takes a lock that names its owner. The lock of a killed server is taken over, because it would never be removed otherwise. If HEAD has
 * moved to the commit that the server had announced, its index is installed.
 */
async function takeLock(place: WorkingTree, lock: string): Promise<void> {
  const writeLock = () => writeFile(lock, ownerOf(process.pid), { flag: 'wx' })
  await writeLock().catch((error: unknown) =>
    takingOver(lock, async () => {
      const owner = await readOwner(lock)
      if (!isLeft(owner)) throw error
      const announced = owner.split('\n')[1]
      if (announced && (await readHead(place)).head === announced)
        await rename(join(place.gitDir, nextIndex), join(place.gitDir, 'index')).catch(() => {})
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
