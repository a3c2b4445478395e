import { mkdir, realpath, stat } from 'node:fs/promises'
import { dirname, isAbsolute, resolve } from 'node:path'
import { isWithin } from '../config/folders.ts'
import { isLocalOnly, type ServerConfig } from '../config/server.ts'
import { invalid, Problem } from '../contract/errors.ts'
import { isAdmin, type Caller } from '../domain/accounts/caller.ts'
import { findAddingRepository } from '../git/addingRepository.ts'
import { findRepository } from '../git/repository.ts'
import { boardFolders, type WorktreePlaces } from '../worktrees/worktreePlaces.ts'

/**
 * Checks a project's folder: absolute, existing, below the caller's roots, and not in a repository that would add the board's own
 * folders. Returns the path as stored, without `..` and trailing slashes.
 * @throws Problem PATH_NOT_ABSOLUTE, PATH_NOT_FOUND, PATH_OUTSIDE_ROOTS, VALIDATION_FAILED
 */
export async function requireFolder(config: ServerConfig, caller: Caller, path: string): Promise<string> {
  if (!isAbsolute(path)) throw new Problem('PATH_NOT_ABSOLUTE')
  const folder = resolve(path)
  if (!isAdmin(caller) && !isLocalOnly(config) && !(await isBelowRoots(config.projectRoots, folder)))
    throw new Problem('PATH_OUTSIDE_ROOTS')
  const found = await stat(folder).catch(() => undefined)
  if (!found?.isDirectory()) throw new Problem('PATH_NOT_FOUND', `The folder ${path} does not exist.`)
  await requireBoardApart(config, folder)
  return folder
}

/**
 * Creates the folder of a new project if its parent exists.
 * @returns whether it was created
 * @throws Problem PATH_NOT_FOUND, PATH_OUTSIDE_ROOTS
 */
export async function makeFolder(config: ServerConfig, caller: Caller, path: string): Promise<boolean> {
  if (!isAbsolute(path)) return false
  const folder = resolve(path)
  if (await stat(folder).catch(() => undefined)) return false
  await requireFolder(config, caller, dirname(folder))
  try {
    await mkdir(folder)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw new Problem('PATH_NOT_FOUND', `The folder could not be created: ${(error as NodeJS.ErrnoException).code}.`, {
      cause: error,
    })
  }
}

async function isBelowRoots(roots: readonly string[], folder: string): Promise<boolean> {
  const real = await realpath(folder).catch(() => undefined)
  if (real === undefined) return false
  for (const root of roots) {
    const realRoot = await realpath(root).catch(() => undefined)
    if (realRoot !== undefined && isWithin(realRoot, real)) return true
  }
  return false
}

/**
 * Checks that the repository of a project's folder would add no files of the board.
 * @throws Problem VALIDATION_FAILED
 */
async function requireBoardApart(places: WorktreePlaces, folder: string): Promise<void> {
  for (const each of boardFolders(places)) {
    const adding = await findAddingRepository(each)
    if (adding && adding.commonDir === (await findRepository(folder))?.commonDir)
      throw invalid(
        'path',
        `must not be in a repository that adds the files of the board, which are in ${adding.path}: ${adding.advice}`,
      )
  }
}
