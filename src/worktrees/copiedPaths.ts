import { join } from 'node:path'
import { readPlain } from '../git/untrustedFiles.ts'
import type { WorkingTree } from '../git/workingTrees.ts'

/** The file in the Git folder of a worktree with the paths of the ignored files that were copied to it. Agents cannot change the file. */
export const copiedPathsFile = 'board-copied'
const maxBytes = 8 * 1024 * 1024

/** Reads the paths of the ignored files that were copied to a worktree, relative to its top folder. */
export async function readCopiedPaths({ gitDir }: Pick<WorkingTree, 'gitDir'>): Promise<string[]> {
  const text = await readPlain(join(gitDir, copiedPathsFile), maxBytes).catch(() => '[]')
  return JSON.parse(text) as string[]
}

/** Lines to append to a file with ignore rules. They match only these paths. */
export const ignoringPaths = (paths: readonly string[]): string =>
  paths
    .filter(path => path.isWellFormed() && !path.includes('\n'))
    .map(path => `\n/${path.replace(/[\\*?[]/g, '\\$&').replace(/ $/, '\\ ')}`)
    .join('')
