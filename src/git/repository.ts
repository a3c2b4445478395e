import { lstat, realpath } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { Problem } from '../contract/errors.ts'
import { listAlternates } from './alternates.ts'
import { git, gitOutput, GitFailed, nulSeparated, type GitResult } from './git.ts'
import { readPlainRepository } from './plainRepository.ts'
import { readPlain } from './untrustedFiles.ts'

/**
 * A working tree, its own Git folder, and the one shared with the other worktrees. Absolute, without links. `head` is
 * its commit, undefined before the first one. `branch` is the current one, as far as one command can tell.
 */
export interface Repository {
  topLevel: string
  gitDir: string
  commonDir: string
  head: string | undefined
  branch: string | undefined
}

const maxListBytes = 64 * 1024 * 1024
const maxRecordBytes = 8192

/**
 * Returns the repository whose working tree contains the folder. Returns undefined if there is none.
 * @throws GitFailed, GitMissing; Problem CONFLICT if its list of further object stores is not acceptable
 */
export async function findRepository(path: string): Promise<Repository | undefined> {
  const real = await realpath(path).catch(() => undefined)
  // Without a `.git` in a parent folder there is no repository: saves a process.
  if (real !== undefined && !(await isMarked(real))) return undefined
  const plain = real !== undefined && (await readPlainRepository(real).catch(() => undefined))
  if (plain) {
    await listAlternates(join(plain.commonDir, 'objects'))
    return plain
  }
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
  ]).catch(withoutFolder)
  const lines = stdout.toString().split('\n').slice(0, -1)
  const [head, ref] = lines.slice(3)
  // Any other number of lines means a path with a line break.
  if (
    exitCode !== 0 ||
    lines.length < 3 ||
    lines.length > 5 ||
    (head !== undefined && !/^[0-9a-f]{40,64}$/.test(head)) ||
    (ref !== undefined && !/^(HEAD$|refs\/)/.test(ref))
  )
    return undefined
  const [topLevel, gitDir, commonDir] = await Promise.all(lines.slice(0, 3).map(line => realpath(line)))
  await listAlternates(join(commonDir!, 'objects'))
  // With a branch of this name, "HEAD" is ambiguous.
  const branch =
    ref?.startsWith('refs/heads/') && ref !== 'refs/heads/HEAD' ? ref.slice('refs/heads/'.length) : undefined
  return { topLevel: topLevel!, gitDir: gitDir!, commonDir: commonDir!, head, branch }
}

/** A missing folder has no repository. */
function withoutFolder(error: unknown): Pick<GitResult, 'exitCode' | 'stdout'> {
  if (!(error instanceof GitFailed) || error.reason !== 'folder') throw error
  return { exitCode: 128, stdout: Buffer.alloc(0) }
}

const isMarked = async (folder: string): Promise<boolean> =>
  (await lstat(join(folder, '.git')).then(
    () => true,
    () => false,
  )) ||
  (dirname(folder) !== folder && isMarked(dirname(folder)))

/** The path of a worktree in the repository's own list, as `git worktree list` reads it, without a process. */
export async function recordedPlace({
  gitDir,
  commonDir,
}: Pick<Repository, 'gitDir' | 'commonDir'>): Promise<string | undefined> {
  if (gitDir === commonDir) return basename(commonDir) === '.git' ? dirname(commonDir) : undefined
  if (dirname(gitDir) !== join(commonDir, 'worktrees')) return undefined
  const record = await readPlain(join(gitDir, 'gitdir'), maxRecordBytes).catch(() => undefined)
  return record === undefined ? undefined : realpath(dirname(resolve(gitDir, record.trimEnd()))).catch(() => undefined)
}

/** A working tree's current branch; null when detached. */
export async function currentBranch(path: string): Promise<string | null> {
  const { exitCode, stdout } = await git(path, ['symbolic-ref', '--quiet', 'HEAD'])
  const name = stdout.toString().trim()
  return exitCode === 0 && name.startsWith('refs/heads/') ? name.slice('refs/heads/'.length) : null
}

/** A working tree's commit; undefined before the first one. */
export async function headOf(path: string): Promise<string | undefined> {
  const { exitCode, stdout } = await git(path, ['rev-parse', '--verify', '--quiet', 'HEAD^{commit}'])
  return exitCode === 0 ? stdout.toString().trim() : undefined
}

/**
 * The tracked files below a folder, relative to it.
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
