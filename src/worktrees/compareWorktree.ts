import { compareProblem, type Comparison, type DiffOptions } from '../git/diff.ts'
import { receivePack } from '../git/receivePack.ts'
import type { Repository } from '../git/repository.ts'
import type { ChangedFile } from './operations.ts'
import type { Worktrees } from './worktrees.ts'

const objectName = /^([0-9a-f]{40}|[0-9a-f]{64})$/

/**
 * Compares the files of a worktree, staged or not, tracked or not, with a commit (null: its HEAD). The diff is at most 2 MiB
 * and 5,000 files long. With `stores`, the snapshot of the files is in the repository afterwards.
 * @throws Problem NOT_A_GIT_REPOSITORY, CONFLICT if Git fails or takes too long, or `since` is not in the repository
 */
export async function compareWorktree(
  worktrees: Worktrees,
  worktree: Repository,
  base: string | null,
  options: DiffOptions = {},
): Promise<Comparison> {
  try {
    const parts: Buffer[] = []
    const { diffBytes, ...comparison } = await worktrees.run(
      'compare',
      { worktree, base, options },
      async bytes => void parts.push(bytes),
    )
    const bytes = Buffer.concat(parts)
    if (!objectName.test(comparison.snapshot)) throw new Error('The process of the worktree named no object.')
    if (options.stores) await receivePack(worktree.commonDir, bytes.subarray(diffBytes))
    return { ...comparison, work: { ...comparison.work, diff: bytes.subarray(0, diffBytes).toString() } }
  } catch (error) {
    throw compareProblem(error)
  }
}

/**
 * Reads a changed file of a worktree, before or after the change.
 * @throws Problem FILE_NOT_FOUND, also for an unchanged file, and like `compareWorktree`
 */
export async function readChangedFile(
  worktrees: Worktrees,
  worktree: Repository,
  base: string | null,
  file: ChangedFile,
): Promise<Buffer> {
  const parts: Buffer[] = []
  await worktrees
    .run('readChanged', { worktree, base, file }, async bytes => void parts.push(bytes))
    .catch((error: unknown) => {
      throw compareProblem(error)
    })
  return Buffer.concat(parts)
}
