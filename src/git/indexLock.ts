import { constants } from 'node:fs'
import { copyFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createKeyedQueue } from '../async/serialQueue.ts'
import { processMark } from '../config/kernel.ts'
import { Problem } from '../contract/errors.ts'
import { git, GitFailed } from './git.ts'
import type { Quarantine } from './quarantine.ts'
import type { Repository } from './repository.ts'
import { readPlain } from './untrustedFiles.ts'

const maxOwnerBytes = 200

/** A worktree's index, locked in Git's own way against other Git processes. */
export interface TakenIndex {
  /**
   * Moves the worktree to a new commit, with the quarantine's index, which must match it. The files stay as they are.
   */
  install(commit: string): Promise<void>
  release(): Promise<void>
}

/** @throws Problem CONFLICT when Git is at work there */
export async function takeIndex({ topLevel, gitDir }: Repository, quarantine: Quarantine): Promise<TakenIndex> {
  const lock = join(gitDir, 'index.lock')
  await takeLock(lock).catch((error: unknown) => {
    throw new Problem('CONFLICT', "Git is at work in the card's worktree. Try again when it is done.", { cause: error })
  })
  // Not in the lock itself, which says to the end whose it is.
  const next = join(gitDir, 'index.board')
  let isHeld = true
  const release = async () => {
    if (isHeld) await rm(lock, { force: true })
    isHeld = false
  }
  const install = async (commit: string) => {
    // A split index would refer to a part in the quarantine's temporary folder.
    await quarantine.run(['update-index', '--no-split-index'])
    await rm(next, { force: true })
    await copyFile(join(quarantine.gitDir, 'index'), next, constants.COPYFILE_EXCL)
    const { exitCode, stderr } = await git(topLevel, [
      'update-ref',
      '-m',
      'commit: board',
      'HEAD',
      commit,
      quarantine.head!,
    ])
    if (exitCode !== 0) throw new GitFailed('failed', `git update-ref ended with ${exitCode}: ${stderr}`)
    await rename(next, join(gitDir, 'index'))
    await release()
  }
  return { install, release }
}

/** Takes a lock that says whose it is. That of a server which was killed is taken over: nobody else would ever remove it. */
async function takeLock(lock: string): Promise<void> {
  const take = () => writeFile(lock, ownerOf(process.pid), { flag: 'wx' })
  await take().catch((error: unknown) =>
    takingOver(lock, async () => {
      const owner = await readPlain(lock, maxOwnerBytes).catch(() => '')
      const pid = Number(/^board (\d+) /.exec(owner)?.[1])
      if (!pid || isPresent(pid, owner)) throw error
      await rm(lock, { force: true })
      await take()
    }),
  )
}

const takingOver = createKeyedQueue()

/** A process and what distinguishes it from others of its number, where the system tells. */
const ownerOf = (pid: number): string => `board ${pid} ${processMark(pid) ?? ''}\n`

function isPresent(pid: number, owner: string): boolean {
  if (process.platform === 'linux') return ownerOf(pid) === owner
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}
