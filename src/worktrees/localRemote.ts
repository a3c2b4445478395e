import { tmpdir } from 'node:os'
import type { LocalRemote } from '../git/remoteGit.ts'
import { receiveObjects } from './receiveObjects.ts'
import type { Worktrees } from './worktrees.ts'

/**
 * Runs Git against repositories in folders of this machine, which agents can have changed: in a process that sees that folder and the
 * objects of the project's repository.
 */
export const createLocalRemote =
  (worktrees: Worktrees): LocalRemote =>
  async (repository, folder, run) => {
    const { gitDir, commonDir } = repository
    const objects = receiveObjects(commonDir, tmpdir(), repository.head ?? '')
    try {
      const worktree = { topLevel: folder, gitDir, commonDir }
      const { exitCode, stderr, fetched } = await worktrees.run('runLocalRemote', { worktree, run }, objects.write)
      if (fetched !== null) await objects.accept(fetched, 'commit')
      return { exitCode, stderr, fetched }
    } finally {
      await objects.close()
    }
  }
