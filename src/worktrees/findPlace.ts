import { findProjectRepository } from '../git/checkoutState.ts'
import type { ProjectFolder } from '../git/folderRecord.ts'
import { findWorkingTree, realPlace } from '../git/workingTrees.ts'
import type { WorktreePlace } from './worktreeMounts.ts'

/**
 * Finds the folders that an operation on a project's worktree requires. A folder that is not on the list of the project's
 * repository requires itself alone.
 * @throws Problem CONFLICT; GitFailed, GitMissing
 */
export async function findPlace(project: ProjectFolder, path: string): Promise<WorktreePlace> {
  const repository = await findProjectRepository(project)
  const found = repository && (await findWorkingTree(repository.commonDir, path))
  return found ?? { topLevel: await realPlace(path) }
}
