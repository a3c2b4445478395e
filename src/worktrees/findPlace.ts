import { join } from 'node:path'
import { kindOf } from '../git/kindOf.ts'
import { findProjectRepository } from '../git/checkoutState.ts'
import type { ProjectFolder } from '../git/folderRecord.ts'
import { findWorkingTree, isMain, realPlace, type WorkingTree } from '../git/workingTrees.ts'
import type { WorktreePlace } from './worktreeMounts.ts'

/**
 * Finds the folders that an operation on a project's worktree requires. A folder that is not in the repository's list of worktrees requires
 * only itself.
 * @throws Problem CONFLICT; GitFailed, GitMissing
 */
export async function findPlace(project: ProjectFolder, path: string): Promise<WorktreePlace> {
  const repository = await findProjectRepository(project)
  const found = repository && (await findUsable(repository, path))
  return found ?? { topLevel: await realPlace(path) }
}

/** Finds a worktree whose folder contains `.git`. Undefined for an emptied folder, in which all files would appear as deleted. */
export async function findUsable(known: WorkingTree, path: string): Promise<WorkingTree | undefined> {
  const found = await findWorkingTree(known, path)
  if (!found) return undefined
  const kind = await kindOf(join(found.topLevel, '.git'))
  return kind === 'file' || (kind !== 'nothing' && isMain(found)) ? found : undefined
}
