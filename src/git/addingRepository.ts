import { realpath } from 'node:fs/promises'
import { relative } from 'node:path'
import { git } from './git.ts'
import { findRepository } from './repository.ts'

/** A repository to which `git add` would add the files of a folder, the folder's path in the repository, and advice. */
export interface AddingRepository {
  topLevel: string
  commonDir: string
  path: string
  advice: string
}

/**
 * Finds the repository to which `git add` would add the files of a folder: a repository around the folder that does not ignore it.
 * @throws GitFailed, GitMissing
 */
export async function findAddingRepository(folder: string): Promise<AddingRepository | undefined> {
  const real = await realpath(folder).catch(() => undefined)
  const repository = real === undefined ? undefined : await findRepository(real)
  if (real === undefined || !repository) return undefined
  const { topLevel, commonDir } = repository
  if ((await git(topLevel, ['check-ignore', '--quiet', '--', real])).exitCode === 0) return undefined
  const path = relative(topLevel, real)
  const advice = `move the folder out of the repository, or add the line ${path === '' ? '*' : `/${path}/`} to .gitignore or .git/info/exclude there`
  return { topLevel, commonDir, path, advice }
}
