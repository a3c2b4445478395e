import { copyFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Problem } from '../contract/errors.ts'
import { git, GitFailed } from './git.ts'
import type { Quarantine } from './quarantine.ts'
import type { Repository } from './repository.ts'

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
  await writeFile(lock, '', { flag: 'wx' }).catch(error => {
    throw new Problem('CONFLICT', "Git is at work in the card's worktree. Try again when it is done.", { cause: error })
  })
  let isHeld = true
  const release = async () => {
    if (isHeld) await rm(lock, { force: true })
    isHeld = false
  }
  const install = async (commit: string) => {
    // A split index would refer to a part in the quarantine's temporary folder.
    await quarantine.run(['update-index', '--no-split-index'])
    await copyFile(join(quarantine.gitDir, 'index'), lock)
    const { exitCode, stderr } = await git(topLevel, [
      'update-ref',
      '-m',
      'commit: board',
      'HEAD',
      commit,
      quarantine.head!,
    ])
    if (exitCode !== 0) throw new GitFailed('failed', `git update-ref ended with ${exitCode}: ${stderr}`)
    await rename(lock, join(gitDir, 'index'))
    isHeld = false
  }
  return { install, release }
}
