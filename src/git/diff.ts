import { tmpdir } from 'node:os'
import { Problem } from '../contract/errors.ts'
import { GitFailed } from './git.ts'
import { openQuarantine, type Quarantine } from './quarantine.ts'
import type { Repository } from './repository.ts'
import { snapshotOf, type SnapshotLimits } from './snapshot.ts'

/** A unified diff and its numbers. Binary and very large files are named and counted, without lines. */
export interface WorkDiff {
  diff: string
  stats: DiffStats
  truncated: boolean
}
interface DiffStats {
  filesChanged: number
  insertions: number
  deletions: number
}

const maxDiffBytes = 2 * 1024 * 1024
const maxListBytes = 32 * 1024 * 1024
const limits: SnapshotLimits = { maxFiles: 5000, maxFileBytes: 2 * 1024 * 1024, maxBytes: 64 * 1024 * 1024 }
const timeoutMs = 60_000
/** What is above that is compared as a whole, not by lines. */
const lineByLine = 'core.bigFileThreshold=4m'
const plain = [
  '-r',
  '--find-renames',
  '-l400',
  '--no-ext-diff',
  '--no-textconv',
  '--no-color',
  '--ignore-submodules=none',
  '--src-prefix=a/',
  '--dst-prefix=b/',
]

/** What is compared, and how: `numbersOnly` leaves the text out. */
export interface DiffOptions {
  numbersOnly?: boolean
}

/**
 * What the files of a worktree, staged or not, tracked or not, differ from a commit in (null: from the commit that it is on).
 * Nothing that somebody planted in the worktree or its repository runs. At most 2 MiB of text and 5,000 files, of more the
 * beginning, with `truncated`; the numbers count the same files.
 * @throws Problem NOT_A_GIT_REPOSITORY, CONFLICT when Git fails or takes too long
 */
export const diffOfWorktree = (
  worktree: Repository,
  base: string | null,
  options: DiffOptions = {},
): Promise<WorkDiff> =>
  inQuarantine(worktree, async quarantine => {
    const { tree, isPartial } = await snapshotOf(quarantine, limits)
    const diff = await diffTrees(
      quarantine,
      (await presentCommit(quarantine, base)) ?? quarantine.head ?? (await emptyTree(quarantine)),
      tree,
      options,
    )
    return { ...diff, truncated: diff.truncated || isPartial }
  })

/** What a commit differs from another one in, for a card whose worktree is gone. @throws Problem like `diffOfWorktree` */
export const diffOfCommits = (
  worktree: Repository,
  base: string | null,
  tip: string,
  options: DiffOptions = {},
): Promise<WorkDiff> =>
  inQuarantine(worktree, async quarantine =>
    diffTrees(quarantine, (await presentCommit(quarantine, base)) ?? (await emptyTree(quarantine)), tip, options),
  )

export const noDiff: WorkDiff = { diff: '', stats: { filesChanged: 0, insertions: 0, deletions: 0 }, truncated: false }

async function inQuarantine<T>(worktree: Repository, work: (quarantine: Quarantine) => Promise<T>): Promise<T> {
  try {
    const quarantine = await openQuarantine(worktree.topLevel, tmpdir(), worktree)
    try {
      return await work(quarantine)
    } finally {
      await quarantine.close()
    }
  } catch (error) {
    throw error instanceof GitFailed
      ? new Problem(
          'CONFLICT',
          error.reason === 'timeout' ? 'Git took too long to compare the files.' : 'Git could not compare the files.',
          { cause: error },
        )
      : error
  }
}

async function diffTrees(
  quarantine: Quarantine,
  before: string,
  after: string,
  { numbersOnly = false }: DiffOptions,
): Promise<WorkDiff> {
  const numbers = await quarantine.run(['-c', lineByLine, 'diff-tree', ...plain, '-z', '--numstat', before, after], {
    timeoutMs,
    maxBytes: maxListBytes,
  })
  if (numbersOnly) return { diff: '', stats: statsOf(numbers), truncated: false }
  const patch = await quarantine.run(['-c', lineByLine, 'diff-tree', ...plain, '--patch', before, after], {
    timeoutMs,
    maxBytes: maxDiffBytes,
    cutsOutput: true,
  })
  const isCut = patch.length >= maxDiffBytes
  return {
    diff: (isCut ? patch.subarray(0, patch.lastIndexOf(10) + 1) : patch).toString(),
    stats: statsOf(numbers),
    truncated: isCut,
  }
}

/** Each entry is "added TAB removed TAB path NUL", of a rename "added TAB removed TAB NUL old NUL new NUL"; a binary file has hyphens. */
function statsOf(numbers: Buffer): DiffStats {
  const stats = { filesChanged: 0, insertions: 0, deletions: 0 }
  const parts = numbers.toString().split('\0')
  for (let index = 0; index < parts.length - 1; index++) {
    const [insertions, deletions, path] = parts[index]!.split('\t')
    if (path === '') index += 2
    stats.filesChanged++
    stats.insertions += Number(insertions) || 0
    stats.deletions += Number(deletions) || 0
  }
  return stats
}

async function presentCommit(quarantine: Quarantine, id: string | null): Promise<string | undefined> {
  if (id === null || id === quarantine.head) return id ?? undefined
  return /^[0-9a-f]{40,64}$/.test(id) &&
    (await quarantine.run(['cat-file', '-e', `${id}^{commit}`]).then(
      () => true,
      () => false,
    ))
    ? id
    : undefined
}

const emptyTree = async (quarantine: Quarantine): Promise<string> =>
  (await quarantine.run(['hash-object', '-w', '-t', 'tree', '--stdin'], { input: '' })).toString().trim()
