import { tmpdir } from 'node:os'
import { compareProblem, type Comparison, type DiffOptions } from './comparison.ts'
import type { Repository } from '../git/workingTrees.ts'
import type { ChangedFile } from './operations.ts'
import { receiveObjects } from './receiveObjects.ts'
import type { Worktrees } from './worktrees.ts'

const objectName = /^([0-9a-f]{40}|[0-9a-f]{64})$/

/**
 * Compares the files of a worktree, staged or not, tracked or not, with a commit (null: its HEAD). The diff is limited to 2 MiB
 * and 5,000 files. With `stores`, the snapshot of the files is stored in the repository.
 * @throws Problem NOT_A_GIT_REPOSITORY, CONFLICT if Git fails or takes too long, or `since` is not in the repository
 */
export async function compareWorktree(
  worktrees: Worktrees,
  worktree: Repository,
  base: string | null,
  options: DiffOptions = {},
): Promise<Comparison> {
  const objects = receiveObjects(worktree.commonDir, tmpdir(), worktree.head ?? '')
  const diff: Buffer[] = []
  try {
    const comparison = await worktrees.run('compare', { worktree, base, options }, async (bytes, part) => {
      if (part === 'pack') await objects.write(bytes)
      else diff.push(bytes)
    })
    if (!objectName.test(comparison.snapshot)) throw new Error('The process of the worktree did not return an object.')
    if (options.stores) await objects.accept(comparison.snapshot, 'tree')
    return { ...comparison, work: { ...comparison.work, diff: Buffer.concat(diff).toString() } }
  } catch (error) {
    throw compareProblem(error)
  } finally {
    await objects.close()
  }
}

/** Compares two commits, for a card whose worktree was removed. @throws Problem like `compareWorktree` */
export async function compareCommits(
  worktrees: Worktrees,
  worktree: Repository,
  base: string | null,
  tip: string,
  options: DiffOptions = {},
): Promise<Comparison> {
  const diff: Buffer[] = []
  const input = { worktree, base, tip, options }
  const comparison = await worktrees
    .run('compareCommits', input, async bytes => void diff.push(bytes))
    .catch((error: unknown) => {
      throw compareProblem(error)
    })
  return { ...comparison, work: { ...comparison.work, diff: Buffer.concat(diff).toString() } }
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
