import { tmpdir } from 'node:os'
import type { LocalRemote } from '../git/remoteGit.ts'
import type { Repository } from '../git/workingTrees.ts'
import { receiveLargeFiles } from './receiveLargeFiles.ts'
import { receiveObjects } from './receiveObjects.ts'
import type { Worktrees } from './worktrees.ts'

/**
 * Reaches repositories in folders of this machine. Agents can have changed them, so Git runs in a process that sees only that
 * folder and the objects of the project's repository.
 */
export const createLocalRemote = (worktrees: Worktrees): LocalRemote => ({
  async run(repository, folder, run) {
    const objects = receiveObjects(repository.commonDir, tmpdir(), repository.head ?? '')
    try {
      const worktree = placeOf(repository, folder)
      const { exitCode, stderr, fetched } = await worktrees.run('runLocalRemote', { worktree, run }, objects.write)
      if (fetched !== null) await objects.accept(fetched, 'commit')
      return { exitCode, stderr, fetched }
    } finally {
      await objects.close()
    }
  },
  async fetchLargeFiles(repository, folder, ids) {
    const files = receiveLargeFiles(repository.commonDir)
    try {
      await worktrees.run('fetchLargeFiles', { worktree: placeOf(repository, folder), ids }, files.write)
      await files.accept()
    } finally {
      await files.close()
    }
  },
  async pushLargeFiles(repository, folder, ids) {
    await worktrees.run('pushLargeFiles', { worktree: placeOf(repository, folder), ids })
  },
})

const placeOf = ({ gitDir, commonDir }: Repository, folder: string) => ({ topLevel: folder, gitDir, commonDir })
