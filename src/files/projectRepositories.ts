import { realpath } from 'node:fs/promises'
import { isWithin } from '../config/folders.ts'
import type { ServerConfig } from '../config/server.ts'
import { boardFolders } from '../worktrees/worktreePlaces.ts'
import { invalid, Problem } from '../contract/errors.ts'
import type { Repository } from '../contract/forges/repositories.ts'
import { findRepository } from '../git/repository.ts'
import type { Caller } from '../domain/accounts/caller.ts'
import { requireFolder } from './projectFolders.ts'

/**
 * Checks the folders of a project's other repositories like that of its home. Each must be the root of a working tree, separate
 * from the home and the others, and not a folder of the board itself.
 * @returns the repositories with their paths as stored
 * @throws Problem PATH_NOT_ABSOLUTE, PATH_NOT_FOUND, PATH_OUTSIDE_ROOTS, VALIDATION_FAILED
 */
export async function requireRepositories(
  config: ServerConfig,
  caller: Caller,
  homePath: string,
  given: readonly Repository[],
): Promise<Repository[]> {
  const found: Repository[] = []
  for (const [at, { name, path }] of given.entries()) {
    const folder = await requireFolder(config, caller, path).catch((error: unknown) => {
      throw error instanceof Problem ? withRepositoryName(at, name, error) : error
    })
    found.push({ name, path: folder })
  }
  await requireApart(config, homePath, found)
  return found
}

/**
 * Checks that a project's home and its other repositories are separate, if only the home changes.
 * @throws Problem VALIDATION_FAILED
 */
export async function requireApart(
  config: ServerConfig,
  homePath: string,
  repositories: readonly Repository[],
): Promise<void> {
  if (repositories.length === 0) return
  const home = await findRepository(homePath)
  const homeFolder = home?.topLevel ?? (await realOf(homePath))
  const board = await Promise.all(boardFolders(config).map(realOf))
  const taken = [{ folder: homeFolder, commonDir: home?.commonDir, what: 'the project itself' }]
  for (const [at, { name, path }] of repositories.entries()) {
    const field = `repositories.${at}.path`
    const repository = await findRepository(path)
    const folder = await realOf(path)
    if (repository?.topLevel !== folder)
      throw invalid(field, `must be the top folder of a Git repository, which ${path} is not`)
    if (board.some(each => isWithin(each, folder) || isWithin(folder, each)))
      throw invalid(field, "must be separate from the board's data folder")
    const { commonDir } = repository
    const other = taken.find(
      each => each.commonDir === commonDir || isWithin(each.folder, folder) || isWithin(folder, each.folder),
    )
    if (other)
      throw invalid(
        field,
        `must be separate from ${other.what}: ${name} is the same repository, or one contains the other`,
      )
    taken.push({ folder, commonDir, what: `the repository ${name}` })
  }
}

const withRepositoryName = (at: number, name: string, { code, message }: Problem): Problem =>
  new Problem(code, `The repository ${name}: ${message}`, { details: [{ path: `repositories.${at}.path`, message }] })

const realOf = (path: string): Promise<string> => realpath(path).catch(() => path)
