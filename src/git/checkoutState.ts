import { realpath } from 'node:fs/promises'
import { relative } from 'node:path'
import { requireRecorded, type ProjectFolder } from './folderRecord.ts'
import { kindOf } from './kindOf.ts'
import { findRepository } from './repository.ts'
import type { Repository } from './workingTrees.ts'

/**
 * The state of a project's folder: its branch (null when detached), its commit (null before the first) and its
 * path below the working tree's top.
 */
export interface CheckoutState {
  branch: string | null
  commit: string | null
  subfolder: string
  repository: Repository
}

/**
 * Reads the state of a project's folder. Returns undefined if no Git repository contains the folder.
 * @throws Problem CONFLICT if the folder or its repository is not the recorded one
 */
export async function readCheckoutState(project: ProjectFolder): Promise<CheckoutState | undefined> {
  const repository = await findProjectRepository(project)
  if (!repository) return undefined
  const real = await realpath(project.path)
  return {
    branch: repository.branch ?? null,
    commit: repository.head ?? null,
    subfolder: relative(repository.topLevel, real),
    repository,
  }
}

/**
 * Finds the repository of a project's folder, which can be missing.
 * @throws Problem CONFLICT if the folder or its repository is not the recorded one
 */
export async function findProjectRepository(project: ProjectFolder): Promise<Repository | undefined> {
  const { path } = project
  if ((await kindOf(await realpath(path).catch(() => path))) !== 'folder') return undefined
  const repository = await findRepository(path)
  await requireRecorded(project, repository)
  return repository
}
