import { realpath } from 'node:fs/promises'
import { Problem } from '../contract/errors.ts'
import { git, gitOutput, GitFailed, nulSeparated } from './git.ts'

/** Where a working tree is, its own Git folder, and the one that it shares with the other worktrees. Absolute, without links. */
export interface Repository { topLevel: string; gitDir: string; commonDir: string }

const mostListBytes = 64 * 1024 * 1024

/** The repository whose working tree holds the folder, or undefined when there is none. */
export async function findRepository(path: string): Promise<Repository | undefined> {
  const { exitCode, stdout } = await git(path, ['rev-parse', '--path-format=absolute', '--show-toplevel', '--git-dir', '--git-common-dir'])
  const lines = stdout.toString().split('\n').slice(0, -1)
  // Another number of lines is a path with a line break in it.
  if (exitCode !== 0 || lines.length !== 3) return undefined
  const [topLevel, gitDir, commonDir] = await Promise.all(lines.map(line => realpath(line)))
  return { topLevel: topLevel!, gitDir: gitDir!, commonDir: commonDir! }
}

/** The branch that a working tree is on; null when it is on none. */
export async function currentBranch(path: string): Promise<string | null> {
  const { exitCode, stdout } = await git(path, ['symbolic-ref', '--quiet', 'HEAD'])
  const name = stdout.toString().trim()
  return exitCode === 0 && name.startsWith('refs/heads/') ? name.slice('refs/heads/'.length) : null
}

/** The commit that a working tree is on; undefined before the first one. */
export async function headOf(path: string): Promise<string | undefined> {
  const { exitCode, stdout } = await git(path, ['rev-parse', '--verify', '--quiet', 'HEAD^{commit}'])
  return exitCode === 0 ? stdout.toString().trim() : undefined
}

/**
 * The paths of the files below a folder that Git tracks, relative to it.
 * @throws Problem NOT_A_GIT_REPOSITORY; CONFLICT when they are too many to list
 */
export async function trackedFiles(path: string): Promise<string[]> {
  try {
    if (!await findRepository(path)) throw new Problem('NOT_A_GIT_REPOSITORY')
    return nulSeparated(await gitOutput(path, ['ls-files', '-z', '--cached', '--deduplicate'], { maxBytes: mostListBytes }))
  } catch (error) {
    throw error instanceof GitFailed ? toProblem(error) : error
  }
}

function toProblem(failure: GitFailed): Problem {
  if (failure.reason === 'output') return new Problem('CONFLICT', 'The repository tracks too many files to list.', { cause: failure })
  if (failure.reason === 'timeout') return new Problem('CONFLICT', 'Git took too long to list the files.', { cause: failure })
  return new Problem('NOT_A_GIT_REPOSITORY', undefined, { cause: failure })
}
