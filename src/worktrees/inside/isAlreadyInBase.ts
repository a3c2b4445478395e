import { nulSeparated } from '../../git/fileNames.ts'
import { GitFailed } from '../../git/git.ts'
import type { Quarantine } from './quarantine.ts'

const timeoutMs = 60_000
const maxBytes = 64 * 1024 * 1024
/** The maximum number of the newest commits of a base that are compared. */
const maxCompared = 1000
/** The maximum number of paths in the search. A commit with all changes has changed each of them. */
const maxPaths = 20

/** Options that make the output independent of settings and attributes, without running other programs. */
const plain = ['--no-ext-diff', '--no-textconv', '--no-renames', '--no-color', '--full-index', '--binary']

/**
 * Whether the base now contains the changes of a commit since it branched off: each of its commits by its changes, or all of them
 * in one commit, as after a squash. Changes that are too large to compare count as missing.
 */
export async function isAlreadyInBase(quarantine: Quarantine, tip: string, base: string): Promise<boolean> {
  try {
    return (
      (await isPart(quarantine, tip, base)) ||
      (await isMergedIn(quarantine, tip, base)) ||
      (await isPicked(quarantine, tip, base)) ||
      (await isSquashed(quarantine, tip, base))
    )
  } catch (error) {
    if (error instanceof GitFailed && ['output', 'timeout', 'failed'].includes(error.reason)) return false
    throw error
  }
}

const isPart = async (quarantine: Quarantine, tip: string, base: string): Promise<boolean> =>
  (await textOf(quarantine, ['rev-list', '--max-count=1', `${base}..${tip}`])) === ''

/** Whether the base was merged into the branch, and no changes of the branch's own remain. */
const isMergedIn = async (quarantine: Quarantine, tip: string, base: string): Promise<boolean> =>
  (await textOf(quarantine, ['rev-list', '--merges', '--max-count=1', `${base}..${tip}`])) !== '' &&
  (await textOf(quarantine, ['diff-tree', '-r', '--name-only', tip, base])) === ''

async function isPicked(quarantine: Quarantine, tip: string, base: string): Promise<boolean> {
  const args = ['rev-list', '--max-count=1', '--right-only', '--cherry-pick', `${base}...${tip}`]
  return (await quarantine.run(args, { timeoutMs })).length === 0
}

async function isSquashed(quarantine: Quarantine, tip: string, base: string): Promise<boolean> {
  const fork = (await textOf(quarantine, ['merge-base', base, tip])).trim()
  const paths = await listDiffering(quarantine, fork, tip)
  if (paths.length === 0) return false
  const [whole] = await patchIds(quarantine, ['diff-tree', '-r', '-p', ...plain, fork, tip])
  if (whole === undefined) return false
  const since = [
    'log',
    '-p',
    '--full-diff',
    '--no-merges',
    '--format=commit %H',
    `--max-count=${maxCompared}`,
    ...plain,
  ]
  // A pathspec cannot contain bytes that are not UTF-8.
  const named = paths.filter(path => path.isWellFormed()).slice(0, maxPaths)
  const limit = ['--', ...named.map(path => `:(literal)${path}`)]
  for (const { id, commit } of await patchIds(quarantine, [...since, `${fork}..${base}`, ...limit]))
    if (id === whole.id && (await isSameThere(quarantine, { tip, commit, paths }))) return true
  return false
}

/** A patch ID ignores some content of binary files, so their object names are compared. */
async function isSameThere(
  quarantine: Quarantine,
  { tip, commit, paths }: { tip: string; commit: string; paths: readonly string[] },
): Promise<boolean> {
  const args = ['diff-tree', '-r', '-z', '--numstat', '--no-renames', `${commit}^`, commit]
  const binary = nulSeparated(await quarantine.run(args, { timeoutMs, maxBytes }))
    .filter(line => line.startsWith('-\t-\t'))
    .map(line => line.slice('-\t-\t'.length))
  if (binary.some(path => !paths.includes(path))) return false
  if (binary.length === 0) return true
  const differing = new Set(await listDiffering(quarantine, tip, commit))
  return !binary.some(path => differing.has(path))
}

async function listDiffering(quarantine: Quarantine, one: string, other: string): Promise<string[]> {
  const args = ['diff-tree', '-r', '-z', '--name-only', '--no-renames', one, other]
  return nulSeparated(await quarantine.run(args, { timeoutMs, maxBytes }))
}

/** The patch IDs of what a command prints, each with its commit. */
async function patchIds(
  quarantine: Quarantine,
  args: readonly string[],
): Promise<Array<{ id: string; commit: string }>> {
  const input = await quarantine.run(args, { timeoutMs, maxBytes })
  if (input.length === 0) return []
  return (await textOf(quarantine, ['patch-id', '--stable'], input))
    .split('\n')
    .slice(0, -1)
    .map(line => ({ id: line.split(' ')[0]!, commit: line.split(' ')[1]! }))
}

const textOf = async (quarantine: Quarantine, args: readonly string[], input?: Buffer): Promise<string> =>
  (await quarantine.run(args, { timeoutMs, maxBytes, ...(input && { input }) })).toString()
