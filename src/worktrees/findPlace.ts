import { join } from 'node:path'
import { kindOf } from '../git/kindOf.ts'
import { isMain } from '../git/shadow.ts'
import { findProjectRepository } from '../git/checkoutState.ts'
import type { ProjectFolder } from '../git/folderRecord.ts'
import { findWorkingTree, realPlace, type WorkingTree } from '../git/workingTrees.ts'
import type { WorktreePlace } from './worktreeMounts.ts'

/**
 * Finds the folders that an operation on a project's worktree requires. A folder that is not on the list of the project's
 * repository requires itself alone.
 * @throws Problem CONFLICT; GitFailed, GitMissing
 */
export async function findPlace(project: ProjectFolder, path: string): Promise<WorktreePlace> {
  const repository = await findProjectRepository(project)
  const found = repository && (await findUsable(repository.commonDir, path))
  return found ?? { topLevel: await realPlace(path) }
}

/** Finds a worktree whose folder contains `.git`. In an emptied folder, all files would appear as deleted. */
export async function findUsable(commonDir: string, path: string): Promise<WorkingTree | undefined> {
  const found = await findWorkingTree(commonDir, path)
  if (!found) return undefined
  const kind = await kindOf(join(found.topLevel, '.git'))
  // The main worktree of a submodule has a file, too.
  const isThere = kind === 'file' || (kind === 'folder' && isMain(found))
  return isThere ? found : undefined
}
