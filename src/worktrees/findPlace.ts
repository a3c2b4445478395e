import { findIn } from '../git/checkoutState.ts'
import { findWorkingTree, realPlace } from '../git/workingTrees.ts'
import type { WorktreePlace } from './worktreeMounts.ts'

/**
 * Finds the folders that an operation on a project's worktree requires. A folder that is not on the list of the project's
 * repository requires itself alone.
 * @throws GitFailed, GitMissing
 */
export async function findPlace(projectPath: string, path: string): Promise<WorktreePlace> {
  const repository = await findIn(projectPath)
  const found = repository && (await findWorkingTree(repository.commonDir, path))
  return found ?? { topLevel: await realPlace(path) }
}
