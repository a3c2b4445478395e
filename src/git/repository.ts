import { lstat, realpath } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { listAlternates } from './alternates.ts'
import { git, GitFailed, type GitResult } from './git.ts'
import { readPlainRepository } from './plainRepository.ts'
import { readHead, type Repository, type WorkingTree } from './workingTrees.ts'

/**
 * Returns the repository whose working tree contains the folder. Returns undefined if there is none.
 * @throws GitFailed, GitMissing; Problem CONFLICT if its list of further object stores is not acceptable
 */
export async function findRepository(path: string): Promise<Repository | undefined> {
  const real = await realpath(path).catch(() => undefined)
  // Without a `.git` in a parent folder there is no repository: saves a process.
  if (real !== undefined && !(await isMarked(real))) return undefined
  const plain = real === undefined ? undefined : await readPlainRepository(real).catch(() => undefined)
  const tree = plain ?? (await askForTree(path))
  if (!tree) return undefined
  await listAlternates(join(tree.commonDir, 'objects'))
  return plain ?? readHead(tree)
}

async function askForTree(path: string): Promise<WorkingTree | undefined> {
  const { exitCode, stdout } = await git(path, [
    'rev-parse',
    '--path-format=absolute',
    '--show-toplevel',
    '--git-dir',
    '--git-common-dir',
  ]).catch(withoutFolder)
  const lines = stdout.toString().split('\n').slice(0, -1)
  // Any other number of lines means a path with a line break.
  if (exitCode !== 0 || lines.length !== 3) return undefined
  const [topLevel, gitDir, commonDir] = await Promise.all(lines.map(line => realpath(line)))
  return { topLevel: topLevel!, gitDir: gitDir!, commonDir: commonDir! }
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
