import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { shownName } from '../../contract/cards/fileNames.ts'
import { Problem } from '../../contract/errors.ts'
import { noDiff, type DiffOptions, type WorkDiff } from '../comparison.ts'
import { GitFailed } from '../../git/git.ts'
import type { NestedRepository } from './changes.ts'
import { diffTrees, emptyTree, type DiffPlace } from './diffTrees.ts'
import { openQuarantine, type Quarantine } from './quarantine.ts'
import { readChanged } from './readChanged.ts'
import { shownLimits, snapshotOf } from './snapshot.ts'

/** Repositories inside a worktree are compared up to this depth, and up to this number in each. */
const maxLevels = 4
const maxNested = 100

/** Diffs the files of repositories inside a worktree against the commits that are checked out in them. */
export async function diffNested(
  { topLevel }: Quarantine,
  nested: readonly NestedRepository[],
  { numbersOnly, prefix, maxBytes }: DiffOptions & Required<DiffPlace>,
  level = 1,
): Promise<WorkDiff[]> {
  const diffs: WorkDiff[] = []
  let left = maxBytes
  for (const { path } of nested.slice(0, maxNested)) {
    const place = { numbersOnly, prefix: `${prefix}${path}/`, maxBytes: left }
    const found = await inNested(join(topLevel, path), async (quarantine, before) => {
      const { tree, nested: deeper, isPartial } = await snapshotOf(quarantine, shownLimits)
      const own = await diffTrees(quarantine, before, tree, place)
      const maxOthers = left - Buffer.byteLength(own.diff)
      const others =
        level < maxLevels ? await diffNested(quarantine, deeper, { ...place, maxBytes: maxOthers }, level + 1) : []
      const isCut = isPartial || (level >= maxLevels && deeper.length > 0)
      return [...others, { ...own, truncated: own.truncated || isCut }]
    }).catch(incomparable)
    for (const diff of found) left -= Buffer.byteLength(diff.diff)
    diffs.push(...found)
  }
  return nested.length > maxNested ? [...diffs, { ...noDiff, truncated: true }] : diffs
}

/** A repository that Git cannot read must not hide the changes around it. */
function incomparable(error: unknown): WorkDiff[] {
  if (!(error instanceof GitFailed || error instanceof Problem)) throw error
  return [{ ...noDiff, truncated: true }]
}

/** @param before the commit that is checked out, or the empty tree */
async function inNested<T>(path: string, work: (quarantine: Quarantine, before: string) => Promise<T>): Promise<T> {
  const quarantine = await openQuarantine(path, tmpdir())
  try {
    return await work(quarantine, quarantine.head ?? (await emptyTree(quarantine)))
  } finally {
    await quarantine.close()
  }
}

/**
 * Reads a changed file of a worktree or of a repository inside, by its shown name.
 * @throws Problem FILE_NOT_FOUND
 */
export async function readSnapshot(
  quarantine: Quarantine,
  before: string,
  path: string,
  side: 'old' | 'new',
): Promise<Buffer> {
  const { tree, nested } = await snapshotOf(quarantine, shownLimits)
  try {
    return await readChanged(quarantine, { before, after: tree }, path, side)
  } catch (error) {
    const folder = nested.find(each => path.startsWith(`${shownName(each.path)}/`))?.path
    if (folder === undefined || !(error instanceof Problem)) throw error
    const rest = path.slice(shownName(folder).length + 1)
    return inNested(join(quarantine.topLevel, folder), (inner, head) => readSnapshot(inner, head, rest, side))
  }
}
