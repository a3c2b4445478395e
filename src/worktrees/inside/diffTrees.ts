import { isUtf8 } from 'node:buffer'
import type { DiffOptions, WorkDiff } from '../comparison.ts'
import type { Quarantine } from './quarantine.ts'

export const maxDiffBytes = 2 * 1024 * 1024
const maxListBytes = 32 * 1024 * 1024
const timeoutMs = 60_000
/** Larger files are compared as a whole, not by lines. */
const lineByLine = 'core.bigFileThreshold=4m'

const plainDiff = (prefix: string) => [
  '-r',
  '--find-renames',
  '-l400',
  '--no-ext-diff',
  '--no-textconv',
  '--no-color',
  '--ignore-submodules=none',
  `--src-prefix=a/${prefix}`,
  `--dst-prefix=b/${prefix}`,
]

/** The place of a diff in a larger one: the path of its repository, and the remaining bytes. */
export interface DiffPlace {
  prefix?: string
  maxBytes?: number
}

/** Diffs two trees. @throws GitFailed */
export async function diffTrees(
  quarantine: Quarantine,
  before: string,
  after: string,
  { numbersOnly = false, prefix = '', maxBytes = maxDiffBytes }: DiffOptions & DiffPlace,
): Promise<WorkDiff> {
  const plain = plainDiff(prefix)
  const numbers = await quarantine.run(['-c', lineByLine, 'diff-tree', ...plain, '-z', '--numstat', before, after], {
    timeoutMs,
    maxBytes: maxListBytes,
  })
  if (numbersOnly) return { diff: '', stats: statsOf(numbers), truncated: false }
  if (maxBytes <= 0) return { diff: '', stats: statsOf(numbers), truncated: numbers.length > 0 }
  // If a file name is not UTF-8, Git must quote names in octal. The diff is then valid UTF-8 and can be applied.
  const settings = ['-c', lineByLine, ...(isUtf8(numbers) ? [] : ['-c', 'core.quotePath=true'])]
  const patch = await quarantine.run([...settings, 'diff-tree', ...plain, '--patch', before, after], {
    timeoutMs,
    maxBytes,
    cutsOutput: true,
  })
  const isCut = patch.length >= maxBytes
  return {
    diff: (isCut ? patch.subarray(0, patch.lastIndexOf(10) + 1) : patch).toString(),
    stats: statsOf(numbers),
    truncated: isCut,
  }
}

/**
 * Parses "added TAB removed TAB path NUL", for a rename "added TAB removed TAB NUL old NUL new NUL". A binary file has hyphens.
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

export const joinDiffs = (diffs: readonly WorkDiff[]): WorkDiff => ({
  diff: diffs.map(({ diff }) => diff).join(''),
  stats: {
    filesChanged: sum(diffs.map(({ stats }) => stats.filesChanged)),
    insertions: sum(diffs.map(({ stats }) => stats.insertions)),
    deletions: sum(diffs.map(({ stats }) => stats.deletions)),
  },
  truncated: diffs.some(({ truncated }) => truncated),
})

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0)

export const emptyTree = async (quarantine: Quarantine): Promise<string> =>
  (await quarantine.run(['hash-object', '-w', '-t', 'tree', '--stdin'], { input: '' })).toString().trim()
