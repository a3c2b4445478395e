import { realpath } from 'node:fs/promises'
import { relative } from 'node:path'
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

/** Reads the state of a project's folder. Returns undefined if no Git repository contains the folder. */
export async function readCheckoutState(projectPath: string): Promise<CheckoutState | undefined> {
  const repository = await findIn(projectPath)
  if (!repository) return undefined
  const real = await realpath(projectPath)
  return {
    branch: repository.branch ?? null,
    commit: repository.head ?? null,
    subfolder: relative(repository.topLevel, real),
    repository,
  }
}

/** Finds the repository of a folder that might not exist. */
export const findIn = async (path: string): Promise<Repository | undefined> =>
  (await kindOf(await realpath(path).catch(() => path))) === 'folder' ? findRepository(path) : undefined
