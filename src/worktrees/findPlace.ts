import { realpath } from 'node:fs/promises'
import { findRepository } from '../git/repository.ts'
import type { WorktreePlace } from './worktreeMounts.ts'

/**
 * Finds the folders that an operation on a worktree requires. A folder that is not a working tree requires itself alone.
 * @throws GitFailed, GitMissing, or the file system's error
 */
export async function findPlace(path: string): Promise<WorktreePlace> {
  const topLevel = await realpath(path)
  const repository = await findRepository(topLevel)
  return repository?.topLevel === topLevel ? repository : { topLevel }
}
