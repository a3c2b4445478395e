import { Problem } from '../../contract/errors.ts'
import { compareProblem, type Comparison, type DiffOptions } from '../comparison.ts'
import type { Repository } from '../../git/workingTrees.ts'
import { diffNested, readSnapshot } from './compareNested.ts'
import { diffTrees, emptyTree, joinDiffs, maxDiffBytes } from './diffTrees.ts'
import { inQuarantine, type Quarantine } from './quarantine.ts'
import { readChanged } from './readChanged.ts'
import { packTree, shownLimits, snapshotOf } from './snapshot.ts'

/**
 * Diffs a worktree's files, staged or not, tracked or not, against a commit (null: its HEAD). For a repository inside, the diff has the
 * checked-out commit, and the files that differ from this commit. Runs no program that a planted configuration names. The diff is limited
 * to 2 MiB of text and 5,000 files. A longer diff is cut and has `truncated`, and its counts cover the remaining files.
 * @param onPack receives a pack of the snapshot's objects that the HEAD commit lacks, with `stores`
 * @throws Problem NOT_A_GIT_REPOSITORY, CONFLICT if Git fails or takes too long, or `since` no longer exists
 */
export const compareFiles = (
  worktree: Repository,
  base: string | null,
  options: DiffOptions,
  onPack: (bytes: Buffer) => Promise<void>,
): Promise<Comparison> =>
  compareIn(worktree, async quarantine => {
    const { tree, nested, isPartial } = await snapshotOf(quarantine, shownLimits)
    const before =
      options.since === undefined
        ? ((await presentObject(quarantine, base)) ?? quarantine.head ?? (await emptyTree(quarantine)))
        : await requirePresent(quarantine, options.since)
    const diff = await diffTrees(quarantine, before, tree, options)
    const inside = await diffNested(quarantine, nested, {
      ...options,
      prefix: '',
      maxBytes: maxDiffBytes - Buffer.byteLength(diff.diff),
    })
    if (options.stores) await packTree(quarantine, tree, onPack)
    const work = joinDiffs([diff, ...inside])
    return {
      work: { ...work, truncated: work.truncated || isPartial },
      baseCommit: base,
      headCommit: quarantine.head ?? null,
      snapshot: tree,
    }
  })

/** Diffs two commits, for a card whose worktree was removed. @throws Problem like `compareFiles` */
export const compareCommits = (
  worktree: Repository,
  base: string | null,
  tip: string,
  options: DiffOptions = {},
): Promise<Comparison> =>
  compareIn(worktree, async quarantine => {
    const before =
      options.since === undefined
        ? ((await presentObject(quarantine, base)) ?? (await emptyTree(quarantine)))
        : await requirePresent(quarantine, options.since)
    const work = await diffTrees(quarantine, before, tip, options)
    return { work, baseCommit: base, headCommit: tip, snapshot: tip }
  })

/**
 * Reads a changed file before or after the change: in the commit `tip` or, if it is undefined, in the worktree.
 * @throws Problem FILE_NOT_FOUND, also for an unchanged file, and like `compareFiles`
 */
export const readCompared = (
  worktree: Repository,
  base: string | null,
  { tip, path, side, since }: { tip: string | undefined; path: string; side: 'old' | 'new'; since?: string },
): Promise<Buffer> =>
  compareIn(worktree, async quarantine => {
    const before =
      since !== undefined
        ? await requirePresent(quarantine, since)
        : ((await presentObject(quarantine, base)) ?? quarantine.head ?? (await emptyTree(quarantine)))
    return tip === undefined
      ? readSnapshot(quarantine, before, path, side)
      : readChanged(quarantine, { before, after: tip }, path, side)
  })

const compareIn = <T>(worktree: Repository, work: (quarantine: Quarantine) => Promise<T>): Promise<T> =>
  inQuarantine(worktree, work).catch((error: unknown) => {
    throw compareProblem(error)
  })

/** A commit or tree, if the repository has its files. A partial clone can lack them. */
async function presentObject(quarantine: Quarantine, id: string | null): Promise<string | undefined> {
  if (id === null || id === quarantine.head) return id ?? undefined
  return /^[0-9a-f]{40,64}$/.test(id) &&
    (await quarantine.run(['cat-file', '-e', `${id}^{tree}`]).then(
      () => true,
      () => false,
    ))
    ? id
    : undefined
}

async function requirePresent(quarantine: Quarantine, id: string): Promise<string> {
  const present = await presentObject(quarantine, id)
  if (present !== undefined) return present
  throw new Problem('CONFLICT', 'The repository no longer has the files of that review.')
}
