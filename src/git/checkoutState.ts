import { realpath } from 'node:fs/promises'
import { relative } from 'node:path'
import { kindOf } from './kindOf.ts'
import { currentBranch, findRepository, type Repository } from './repository.ts'

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
  const [branch, real] = await Promise.all([repository.branch ?? currentBranch(projectPath), realpath(projectPath)])
  return { branch, commit: repository.head ?? null, subfolder: relative(repository.topLevel, real), repository }
}

/** Finds the repository of a folder that might not exist. */
export const findIn = async (path: string): Promise<Repository | undefined> =>
  (await kindOf(await realpath(path).catch(() => path))) === 'folder' ? findRepository(path) : undefined
