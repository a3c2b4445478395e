import { lstat, readdir, realpath } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { listAlternates } from './alternates.ts'
import { Problem } from '../contract/errors.ts'
import { git, GitFailed } from './git.ts'
import { kindOf } from './kindOf.ts'
import { readPlainRepository } from './plainRepository.ts'
import { readHead, type Repository, type WorkingTree } from './workingTrees.ts'

/**
 * Returns the repository whose working tree contains the folder. Returns undefined if there is none.
 * @throws GitFailed, GitMissing, RepositoryRefused; Problem CONFLICT if its list of further object stores is not acceptable
 */
export async function findRepository(path: string): Promise<Repository | undefined> {
  const real = await realpath(path).catch(() => undefined)
  if (real === undefined) return undefined
  const plain = await readPlainRepository(real).catch(() => undefined)
  const tree = plain ?? (await askGit(real))
  if (!tree) return undefined
  await listAlternates(join(tree.commonDir, 'objects'))
  return plain ?? readHead(tree)
}

/** @throws Problem NOT_A_GIT_REPOSITORY, and as `findRepository` does */
export async function requireGitRepository(path: string): Promise<Repository> {
  const repository = await findRepository(path)
  if (!repository) throw new Problem('NOT_A_GIT_REPOSITORY')
  return repository
}

interface Marker {
  path: string
  /** Whether the mark is the folder of a bare repository. Otherwise, it is a `.git`. */
  isBare: boolean
}

async function askGit(path: string): Promise<WorkingTree | undefined> {
  const marker = await findMarker(path)
  if (!marker) return undefined
  const asked = ['--is-bare-repository', '--git-dir', '--git-common-dir', '--show-toplevel']
  // Git checks the owner of the repository here. Afterwards, each command names the Git folder.
  const options = marker.isBare ? ['-c', 'safe.bareRepository=all'] : []
  const result = await git(path, [...options, 'rev-parse', '--path-format=absolute', ...asked]).catch(withoutFolder)
  if (result === undefined) return undefined
  const [isBare, ...paths] = result.stdout.toString().split('\n').slice(0, -1)
  // For a bare repository, Git fails, but only because it has no top level.
  if (isBare === 'true' && paths.length === 2 && (!marker.isBare || path === marker.path))
    return treeOf(marker.isBare ? marker.path : dirname(marker.path), paths, true)
  if (result.exitCode !== 0) throw new RepositoryRefused(marker, result.stderr)
  if (isBare !== 'false' || paths.length !== 3) throw new RepositoryRefused(marker, 'its path contains a line break')
  return treeOf(paths.pop()!, paths)
}

async function treeOf(topLevel: string, gitFolders: readonly string[], isBare?: true): Promise<WorkingTree> {
  const [top, gitDir, commonDir] = await Promise.all([topLevel, ...gitFolders].map(path => realpath(path)))
  return { topLevel: top!, gitDir: gitDir!, commonDir: commonDir!, ...(isBare && { isBare }) }
}

/** A folder that has just been removed has no repository. */
function withoutFolder(error: unknown): undefined {
  if (!(error instanceof GitFailed) || error.reason !== 'folder') throw error
}

/**
 * Git refuses the repository of a folder. An agent must not work in such a folder as if it had no repository: its changes would mix with
 * those of people, and could not be undone.
 */
export class RepositoryRefused extends Problem {
  constructor({ path }: Marker, words: string) {
    const reason = words
      .replace(/^fatal: /, '')
      .trim()
      .replace(/\s+/g, ' ')
    super(
      'CONFLICT',
      `Git cannot use the repository ${path}: ${reason}. Correct this, or remove ${path} if it is not a repository.`,
    )
  }
}

/**
 * Finds the mark of a repository in a folder or above it, on the same file system, as Git does: a `.git` that is not an empty folder, or
 * the files of a bare repository.
 */
async function findMarker(real: string): Promise<Marker | undefined> {
  const { dev } = await lstat(real)
  for (let folder = real; ; folder = dirname(folder)) {
    if ((await lstat(folder)).dev !== dev) return undefined
    const path = join(folder, '.git')
    if (await isMarker(path)) return { path, isBare: false }
    if (await isBare(folder)) return { path: folder, isBare: true }
    if (dirname(folder) === folder) return undefined
  }
}

async function isMarker(path: string): Promise<boolean> {
  const kind = await kindOf(path)
  if (kind !== 'folder') return kind !== 'nothing'
  const names = await readdir(path).catch(() => undefined)
  return names === undefined || names.length > 0
}

const isBare = async (folder: string): Promise<boolean> =>
  (await kindOf(join(folder, 'HEAD'))) === 'file' &&
  (await kindOf(join(folder, 'objects'))) === 'folder' &&
  (await kindOf(join(folder, 'refs'))) === 'folder'
