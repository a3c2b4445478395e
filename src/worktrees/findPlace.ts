import { realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { findRepository } from '../git/repository.ts'
import type { LinkedWorktree } from '../git/shadow.ts'

/**
 * The folders that the process of a worktree sees. A folder outside of Git has none but its own.
 * @throws GitFailed, GitMissing, or the file system's error
 */
export async function findPlace(path: string): Promise<LinkedWorktree> {
  const topLevel = await realpath(path)
  const repository = await findRepository(topLevel)
  if (repository?.topLevel === topLevel) return repository
  const gitDir = join(topLevel, '.git')
  return { topLevel, gitDir, commonDir: gitDir }
}
