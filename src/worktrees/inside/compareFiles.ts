import { isUtf8 } from 'node:buffer'
import { tmpdir } from 'node:os'
import { shownName } from '../../boardModel/fileNames.ts'
import { Problem } from '../../contract/errors.ts'
import { compareProblem, type Comparison, type DiffOptions, type WorkDiff } from '../comparison.ts'
import { nulSeparated } from '../../git/fileNames.ts'
import { GitFailed } from '../../git/git.ts'
import { openQuarantine, type Quarantine } from './quarantine.ts'
import type { Repository } from '../../git/workingTrees.ts'
import { isStandIn, packTree, snapshotOf, type SnapshotLimits } from './snapshot.ts'

const maxDiffBytes = 2 * 1024 * 1024
const maxListBytes = 32 * 1024 * 1024
const limits: SnapshotLimits = { maxFiles: 5000, maxFileBytes: 2 * 1024 * 1024, maxBytes: 64 * 1024 * 1024 }
const timeoutMs = 60_000
/** Larger files are compared as a whole, not by lines. */
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

/**
 * Diffs a worktree's files, staged or not, tracked or not, against a commit (null: its HEAD). Runs no program that a
 * planted configuration names. At most 2 MiB of text and 5,000 files, beyond that the beginning with `truncated`; the
 * counts cover the same files.
 * @param onPack receives a pack of the snapshot's objects that the HEAD commit lacks, with `stores`
 * @throws Problem NOT_A_GIT_REPOSITORY, CONFLICT when Git fails or takes too long, or `since` is gone
 */
export const compareFiles = (
  worktree: Repository,
  base: string | null,
  options: DiffOptions,
  onPack: (bytes: Buffer) => Promise<void>,
): Promise<Comparison> =>
  inQuarantine(worktree, async quarantine => {
    const { tree, isPartial } = await snapshotOf(quarantine, limits)
    const before =
      options.since === undefined
        ? ((await presentObject(quarantine, base)) ?? quarantine.head ?? (await emptyTree(quarantine)))
        : await requirePresent(quarantine, options.since)
    const diff = await diffTrees(quarantine, before, tree, options)
    if (options.stores) await packTree(quarantine, tree, onPack)
    return {
      work: { ...diff, truncated: diff.truncated || isPartial },
      baseCommit: base,
      headCommit: quarantine.head ?? null,
      snapshot: tree,
    }
  })

/** Diffs two commits, for a card whose worktree is gone. @throws Problem like `compareFiles` */
export const compareCommits = (
  worktree: Repository,
  base: string | null,
  tip: string,
  options: DiffOptions = {},
): Promise<Comparison> =>
  inQuarantine(worktree, async quarantine => {
    const before =
      options.since === undefined
        ? ((await presentObject(quarantine, base)) ?? (await emptyTree(quarantine)))
        : await requirePresent(quarantine, options.since)
    const work = await diffTrees(quarantine, before, tip, options)
    return { work, baseCommit: base, headCommit: tip, snapshot: tip }
  })

/**
 * A changed file, before or after: of the commit `tip`, or of the worktree without one.
 * @throws Problem FILE_NOT_FOUND, also for an unchanged file, and like `compareFiles`
 */
export const readCompared = (
  worktree: Repository,
  base: string | null,
  { tip, path, side, since }: { tip: string | undefined; path: string; side: 'old' | 'new'; since?: string },
): Promise<Buffer> =>
  inQuarantine(worktree, async quarantine => {
    const before =
      since !== undefined
        ? await requirePresent(quarantine, since)
        : ((await presentObject(quarantine, base)) ?? quarantine.head ?? (await emptyTree(quarantine)))
    const after = tip ?? (await snapshotOf(quarantine, limits)).tree
    const blob = await findBlob(quarantine, { before, after }, path, side)
    const content = await quarantine
      .run(['cat-file', 'blob', blob], { maxBytes: limits.maxFileBytes })
      .catch((error: unknown) => {
        if (!(error instanceof GitFailed) || error.reason === 'timeout') throw error
        throw error.reason === 'output' ? tooLarge() : new Problem('FILE_NOT_FOUND', undefined, { cause: error })
      })
    if (isStandIn(content)) throw tooLarge()
    return content
  })

/**
 * Finds a changed file by its shown name: its blob before or after the change.
 * @throws Problem FILE_NOT_FOUND
 */
async function findBlob(
  quarantine: Quarantine,
  { before, after }: { before: string; after: string },
  path: string,
  side: 'old' | 'new',
): Promise<string> {
  const args = ['diff-tree', '-r', '-z', '--raw', '--no-abbrev', '--no-renames', before, after]
  const parts = nulSeparated(await quarantine.run(args, { timeoutMs, maxBytes: maxListBytes }))
  const at = parts.findIndex((part, index) => index % 2 === 1 && shownName(part) === path)
  // ":mode mode id id status"
  const [, , old, present] = (parts[at - 1] ?? '').split(' ')
  const blob = side === 'new' ? present : old
  if (blob === undefined || /^0*$/.test(blob)) throw new Problem('FILE_NOT_FOUND')
  return blob
}

const tooLarge = () => new Problem('FILE_NOT_FOUND', 'The file is too large to be shown, or may not be read.')

async function inQuarantine<T>(worktree: Repository, work: (quarantine: Quarantine) => Promise<T>): Promise<T> {
  try {
    const quarantine = await openQuarantine(worktree.topLevel, tmpdir(), worktree)
    try {
      return await work(quarantine)
    } finally {
      await quarantine.close()
    }
  } catch (error) {
    throw compareProblem(error)
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
  // Git then shows each byte of a name that is not ASCII in octal, so that the diff is UTF-8, and can be applied.
  const settings = ['-c', lineByLine, ...(isUtf8(numbers) ? [] : ['-c', 'core.quotePath=true'])]
  const patch = await quarantine.run([...settings, 'diff-tree', ...plain, '--patch', before, after], {
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

/**
 * Parses "added TAB removed TAB path NUL", for a rename "added TAB removed TAB NUL old NUL new NUL"; a binary file has
 * hyphens.
 */
function statsOf(numbers: Buffer): WorkDiff['stats'] {
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

/** A commit or tree, if the repository has its files (a partial clone may not). */
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
  throw new Problem('CONFLICT', 'The repository has not kept the files as they were at that review.')
}

const emptyTree = async (quarantine: Quarantine): Promise<string> =>
  (await quarantine.run(['hash-object', '-w', '-t', 'tree', '--stdin'], { input: '' })).toString().trim()
