import { join } from 'node:path'
import { kindOf } from '../git/kindOf.ts'
import { findProjectRepository } from '../git/checkoutState.ts'
import type { ProjectFolder } from '../git/folderRecord.ts'
import { findWorkingTree, isMain, realPlace, type WorkingTree } from '../git/workingTrees.ts'
import type { WorktreePlace } from './worktreeMounts.ts'

/**
 * Finds the folders that an operation on a project's worktree requires. A folder that is not on the list of the project's
 * repository requires itself alone.
 * @throws Problem CONFLICT; GitFailed, GitMissing
 */
export async function findPlace(project: ProjectFolder, path: string): Promise<WorktreePlace> {
  const repository = await findProjectRepository(project)
  const found = repository && (await findUsable(repository, path))
  return found ?? { topLevel: await realPlace(path) }
}

/** Finds a worktree whose folder contains `.git`. In an emptied folder, all files would appear as deleted. */
export async function findUsable(known: WorkingTree, path: string): Promise<WorkingTree | undefined> {
  const found = await findWorkingTree(known, path)
  if (!found) return undefined
  const kind = await kindOf(join(found.topLevel, '.git'))
  return kind === 'file' || (kind !== 'nothing' && isMain(found)) ? found : undefined
}
