import { readdir, utimes } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { withFilter } from '../../git/filters.ts'
import { GitFailed } from '../../git/git.ts'
import { filePath, nulSeparated, realName } from '../../git/fileNames.ts'
import { isAlreadyInBase } from './isAlreadyInBase.ts'
import { readModules } from '../../git/submodules.ts'
import { kindOf, type Kind } from '../../git/kindOf.ts'
import type { Quarantine } from './quarantine.ts'

const listTimeoutMs = 60_000
/** The maximum number of branches that are searched for the same changes in other commits. */
const maxBases = 20
const maxListBytes = 256 * 1024 * 1024

/**
 * `lost`: the commits of the HEAD and of the card's branch, which are lost if the worktree is deleted. `kept`: the commits that all other
 * refs keep.
 */
export interface Commits {
  lost: string[]
  kept: string[]
}

/**
 * Sorts the commits of all refs into lost and kept. For a repository nested in a worktree (`branch` undefined) all
 * branches are lost with the folder, and only the remote-tracking refs are kept.
 */
export async function commitsOf(quarantine: Quarantine, branch: string | null | undefined): Promise<Commits> {
  const [{ head }, refs] = [quarantine, await quarantine.refs()]
  const isLost = (name: string) =>
    branch === undefined ? !name.startsWith('refs/remotes/') : name === `refs/heads/${branch}`
  const lost = [head, ...refs.filter(({ name }) => isLost(name)).map(({ id }) => id)].filter(id => id !== undefined)
  return {
    lost: [...new Set(lost)],
    kept: [...new Set(refs.filter(({ name }) => !isLost(name)).map(({ id }) => id))],
  }
}

/** Whether deleting the worktree loses a commit that no commit in `elsewhere` contains. */
export async function losesCommits(
  quarantine: Quarantine,
  branch: string | null | undefined,
  elsewhere: readonly string[],
): Promise<boolean> {
  const { lost, kept } = await commitsOf(quarantine, branch)
  kept.push(...elsewhere)
  if (lost.length === 0) return false
  const revisions = [...lost, ...kept.map(id => `^${id}`)].join('\n')
  const own = await quarantine.run(['rev-list', '--max-count=1', '--ignore-missing', '--stdin'], {
    input: `${revisions}\n`,
    timeoutMs: listTimeoutMs,
  })
  if (own.length === 0) return false
  // Changes that a squash or a rebase has added to another branch under other commits are not lost.
  const bases = (await quarantine.refs()).filter(ref => isBase(ref) && kept.includes(ref.id)).slice(0, maxBases)
  for (const tip of lost) if (!(await isInAnyBase(quarantine, tip, bases))) return true
  return false
}

/** Whether a ref is a branch that does not belong to a card. There are few of these branches. */
const isBase = ({ name }: { name: string }): boolean =>
  /^refs\/(?:heads|remotes)\//.test(name) && !/^refs\/(?:heads|remotes\/[^/]+)\/board\//.test(name)

async function isInAnyBase(
  quarantine: Quarantine,
  tip: string,
  bases: ReadonlyArray<{ id: string }>,
): Promise<boolean> {
  for (const { id } of bases) if (id !== tip && (await isAlreadyInBase(quarantine, tip, id))) return true
  return false
}

/** Whether index or files differ from the commit, including untracked files. Too many differences to list count as a difference. */
export async function isChanged(quarantine: Quarantine): Promise<boolean> {
  try {
    return (await listAllChanges(quarantine, true)).length > 0
  } catch (error) {
    if (error instanceof GitFailed && error.reason === 'output') return true
    throw error
  }
}

/** Lists the files of which index or content differ from the commit. */
export const listAllChanges = async (quarantine: Quarantine, withUntracked: boolean): Promise<string[]> => [
  ...new Set([...(await listStaged(quarantine)), ...(await listChanged(quarantine, withUntracked))]),
]

const listStaged = async (quarantine: Quarantine): Promise<string[]> =>
  withoutCopies(
    quarantine,
    await quarantine.run(
      quarantine.head === undefined
        ? ['ls-files', '-z']
        : ['diff-index', '-z', '--cached', '--name-only', '--ignore-submodules=none', quarantine.head],
      { timeoutMs: listTimeoutMs },
    ),
  )

/** The paths of a list, except those of copies. */
async function withoutCopies(quarantine: Quarantine, list: Buffer): Promise<string[]> {
  const copies = await quarantine.copies()
  return nulSeparated(list).filter(path => !copies.has(path))
}

/** Lists changed and deleted files, and with `withUntracked` also those that are not tracked. */
async function listChanged(quarantine: Quarantine, withUntracked: boolean): Promise<string[]> {
  const untracked = withUntracked ? ['--others', '--exclude-standard'] : []
  const list = async () =>
    withoutCopies(
      quarantine,
      await quarantine.run(['ls-files', '-z', '--modified', '--deleted', '--deduplicate', ...untracked], {
        timeoutMs: listTimeoutMs,
        maxBytes: maxListBytes,
      }),
    )
  const listed = await list()
  const filtered = new Set(await withFilter(quarantine.run, listed, quarantine.skippedFilters))
  if (filtered.size === 0) return listed
  // Git reads the content of a file that is as new as the index. Without its filter, an unchanged file would appear as changed.
  const later = new Date(Date.now() + 1000)
  await utimes(join(quarantine.gitDir, 'index'), later, later)
  const older = new Set(await list())
  return listed.filter(path => !filtered.has(path) || older.has(path))
}

/** A repository in a folder of a worktree. `recorded`: its commit in the index; undefined if it is not a submodule. */
export interface NestedRepository {
  path: string
  recorded: string | undefined
}

/**
 * The contents of a worktree. `changed`: paths of changed, deleted, unmerged and untracked files. `nested`: folders of repositories inside
 * the worktree (submodules and untracked repositories), except behind links. `changed` does not contain them.
 */
export interface Survey {
  changed: string[]
  nested: NestedRepository[]
}

export async function surveyChanges(quarantine: Quarantine): Promise<Survey> {
  const entries = await listEntries(quarantine)
  const listed = await listChanged(quarantine, true)
  const repositories = new Map<string, string | undefined>([
    ...listed.filter(path => path.endsWith('/')).map(path => [path.slice(0, -1), undefined] as const),
    ...entries.filter(({ mode }) => mode === '160000').map(({ path, id }) => [path, id] as const),
  ])
  const folders = await Promise.all(
    [...repositories].map(async ([path, recorded]) =>
      (await isOwnFolder(quarantine, path)) ? [{ path, recorded }] : [],
    ),
  )
  const inside = new Set(folders.flat().map(({ path }) => path))
  const changed = new Set([...entries.filter(({ stage }) => stage !== '0').map(({ path }) => path), ...listed])
  const filled = await Promise.all(
    folders.flat().map(async each => ((await isEmptyFolder(quarantine, each.path)) ? [] : [each])),
  )
  return { changed: [...changed].filter(path => !path.endsWith('/') && !inside.has(path)), nested: filled.flat() }
}

/** Lists the submodules of a worktree that have no files, except those that `.gitmodules` does not list or marks with `update = none`. */
export async function listEmptySubmodules(quarantine: Quarantine): Promise<string[]> {
  if (quarantine.head === undefined) return []
  const [paths, updates] = await Promise.all([
    readModules(quarantine.run, quarantine.head, 'path'),
    readModules(quarantine.run, quarantine.head, 'update'),
  ])
  const wanted = new Set([...paths].filter(([name]) => updates.get(name) !== 'none').map(([, path]) => path))
  const links = (await listEntries(quarantine)).filter(({ mode, path }) => mode === '160000' && wanted.has(path))
  const isEmpty = await Promise.all(links.map(({ path }) => isEmptyFolder(quarantine, path)))
  return links.filter((_, index) => isEmpty[index]).map(({ path }) => path)
}

const isEmptyFolder = async ({ topLevel }: Quarantine, path: string): Promise<boolean> =>
  (await readdir(filePath(join(topLevel, path))).catch(() => undefined))?.length === 0

/**
 * Lists the tracked files with local changes. Omits submodules, because Git leaves their files unchanged when it moves to another commit.
 */
export async function listLocalChanges(quarantine: Quarantine): Promise<string[]> {
  const [staged, changed] = [await listStaged(quarantine), await listChanged(quarantine, false)]
  if (changed.length === 0) return staged
  const entries = await listEntries(quarantine)
  const submodules = new Set(entries.filter(({ mode }) => mode === '160000').map(({ path }) => path))
  return [...new Set([...staged, ...changed.filter(path => !submodules.has(path))])]
}

const listEntries = async (quarantine: Quarantine) =>
  nulSeparated(
    await quarantine.run(['ls-files', '-z', '--stage'], { timeoutMs: listTimeoutMs, maxBytes: maxListBytes }),
  ).map(readEntry)

/** Parses "mode object stage TAB path". An unmerged path has several stages. */
function readEntry(entry: string): { mode: string; id: string; stage: string; path: string } {
  const tab = entry.indexOf('\t')
  return {
    mode: entry.slice(0, 6),
    id: entry.slice(7, tab - 2),
    stage: entry.slice(tab - 1, tab),
    path: entry.slice(tab + 1),
  }
}

const isOwnFolder = async ({ topLevel }: Quarantine, path: string) => (await kindWithin(topLevel, path)) === 'folder'

/** The kind of a path in a worktree. A path behind a link counts as missing, because it is outside. */
export async function kindWithin(topLevel: string, path: string): Promise<Kind> {
  const parent = dirname(join(topLevel, path))
  return (await realName(parent).catch(() => undefined)) === parent ? kindOf(join(topLevel, path)) : 'nothing'
}
