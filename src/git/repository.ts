import { lstat, realpath } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Problem } from '../contract/errors.ts'
import { git, gitOutput, GitFailed, nulSeparated, type GitResult } from './git.ts'

/**
 * Where a working tree is, its own Git folder, and the one that it shares with the other worktrees. Absolute, without links.
 * `head` is the commit that it is on; undefined before the first one. `branch` is the one that it is on, as far as one look tells.
 */
export interface Repository {
  topLevel: string
  gitDir: string
  commonDir: string
  head: string | undefined
  branch: string | undefined
}

const maxListBytes = 64 * 1024 * 1024

/** The repository whose working tree holds the folder, or undefined when there is none. @throws Problem CONFLICT when this machine has no Git; GitFailed */
export async function findRepository(path: string): Promise<Repository | undefined> {
  const { exitCode, stdout } = await git(path, [
    'rev-parse',
    '--path-format=absolute',
    '--show-toplevel',
    '--git-dir',
    '--git-common-dir',
    '--revs-only',
    'HEAD^{commit}',
    '--symbolic-full-name',
    'HEAD',
  ]).catch((error: unknown) => withoutGit(path, error))
  const lines = stdout.toString().split('\n').slice(0, -1)
  const [head, ref] = lines.slice(3)
  // Other lines than these are of a path with a line break in it.
  if (
    exitCode !== 0 ||
    lines.length < 3 ||
    lines.length > 5 ||
    (head !== undefined && !/^[0-9a-f]{40,64}$/.test(head)) ||
    (ref !== undefined && !/^(HEAD$|refs\/)/.test(ref))
  )
    return undefined
  const [topLevel, gitDir, commonDir] = await Promise.all(lines.slice(0, 3).map(line => realpath(line)))
  // A branch of this name makes Git see two things in "HEAD".
  const branch =
    ref?.startsWith('refs/heads/') && ref !== 'refs/heads/HEAD' ? ref.slice('refs/heads/'.length) : undefined
  return { topLevel: topLevel!, gitDir: gitDir!, commonDir: commonDir!, head, branch }
}

/** In a folder that is gone there is no repository, nor where no folder has Git's mark: only for the others Git is needed. */
async function withoutGit(path: string, error: unknown): Promise<Pick<GitResult, 'exitCode' | 'stdout'>> {
  if (!(error instanceof GitFailed) || !['folder', 'missing'].includes(error.reason)) throw error
  if (error.reason === 'missing' && (await isMarked(await realpath(path))))
    throw new Problem(
      'CONFLICT',
      'Git was not found on the server: install it, or mend the PATH that the server is started with.',
      { cause: error },
    )
  return { exitCode: 128, stdout: Buffer.alloc(0) }
}

const isMarked = async (folder: string): Promise<boolean> =>
  (await lstat(join(folder, '.git')).then(
    () => true,
    () => false,
  )) ||
  (dirname(folder) !== folder && isMarked(dirname(folder)))

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
    if (!(await findRepository(path))) throw new Problem('NOT_A_GIT_REPOSITORY')
    return nulSeparated(
      await gitOutput(path, ['ls-files', '-z', '--cached', '--deduplicate'], { maxBytes: maxListBytes }),
    )
  } catch (error) {
    throw error instanceof GitFailed ? toProblem(error) : error
  }
}

function toProblem(failure: GitFailed): Problem {
  if (failure.reason === 'output')
    return new Problem('CONFLICT', 'The repository tracks too many files to list.', { cause: failure })
  if (failure.reason === 'timeout')
    return new Problem('CONFLICT', 'Git took too long to list the files.', { cause: failure })
  return new Problem('NOT_A_GIT_REPOSITORY', undefined, { cause: failure })
}
