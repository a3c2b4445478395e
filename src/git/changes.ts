import { lstat, realpath } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { GitFailed, nulSeparated } from './git.ts'
import type { Quarantine } from './quarantine.ts'

const listTimeoutMs = 60_000
const maxListBytes = 256 * 1024 * 1024

/** What deleting a worktree loses: the commits of its HEAD and of the card's branch. The commits of all other refs are kept. */
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

/** Whether a commit would be lost. */
export async function losesCommits(quarantine: Quarantine, branch: string | null | undefined): Promise<boolean> {
  const { lost, kept } = await commitsOf(quarantine, branch)
  if (lost.length === 0) return false
  const revisions = [...lost, ...kept.map(id => `^${id}`)].join('\n')
  return (
    (
      await quarantine.run(['rev-list', '--max-count=1', '--ignore-missing', '--stdin'], {
        input: `${revisions}\n`,
        timeoutMs: listTimeoutMs,
      })
    ).length > 0
  )
}

/** Whether the index or the files differ from the commit, by untracked files too. Too many differences to list are some. */
export async function isChanged(quarantine: Quarantine): Promise<boolean> {
  try {
    const staged =
      quarantine.head === undefined
        ? ['ls-files', '-z']
        : ['diff-index', '-z', '--cached', '--name-only', '--ignore-submodules=none', quarantine.head]
    if ((await quarantine.run(staged, { timeoutMs: listTimeoutMs })).length > 0) return true
    return (await listChanged(quarantine)).length > 0
  } catch (error) {
    if (error instanceof GitFailed && error.reason === 'output') return true
    throw error
  }
}

/** Whether the index or the tracked files differ from the commit. Untracked files do not count. */
export async function isTrackedChanged(quarantine: Quarantine): Promise<boolean> {
  const staged =
    quarantine.head === undefined
      ? []
      : ['diff-index', '-z', '--cached', '--name-only', '--ignore-submodules=none', quarantine.head]
  if (staged.length > 0 && (await quarantine.run(staged, { timeoutMs: listTimeoutMs, cutsOutput: true })).length > 0)
    return true
  return (
    (
      await quarantine.run(['ls-files', '-z', '--modified', '--deleted'], {
        timeoutMs: listTimeoutMs,
        cutsOutput: true,
      })
    ).length > 0
  )
}

const listChanged = (quarantine: Quarantine, maxBytes?: number) =>
  quarantine.run(['ls-files', '-z', '--modified', '--deleted', '--others', '--exclude-standard', '--deduplicate'], {
    timeoutMs: listTimeoutMs,
    maxBytes,
  })

/**
 * What lies in a worktree. `changed` are the paths of changed, deleted, unmerged and untracked files. `nested` are the folders
 * of repositories that the index names (submodules) or that lie there untracked, without those behind a link; they are not
 * among the changed ones.
 */
export interface Survey {
  changed: string[]
  nested: string[]
}

export async function survey(quarantine: Quarantine): Promise<Survey> {
  const entries = nulSeparated(
    await quarantine.run(['ls-files', '-z', '--stage'], { timeoutMs: listTimeoutMs, maxBytes: maxListBytes }),
  ).map(readEntry)
  const listed = nulSeparated(await listChanged(quarantine, maxListBytes))
  const repositories = [
    ...entries.filter(({ mode }) => mode === '160000').map(({ path }) => path),
    ...listed.filter(path => path.endsWith('/')).map(path => path.slice(0, -1)),
  ]
  const folders = await Promise.all(
    [...new Set(repositories)].map(async path => ((await isOwnFolder(quarantine, path)) ? path : undefined)),
  )
  const nested = new Set(folders.filter(path => path !== undefined))
  const changed = new Set([...entries.filter(({ stage }) => stage !== '0').map(({ path }) => path), ...listed])
  return { changed: [...changed].filter(path => !path.endsWith('/') && !nested.has(path)), nested: [...nested] }
}

/** An entry is "mode object stage TAB path". One that is in more than one stage is unmerged. */
function readEntry(entry: string): { mode: string; stage: string; path: string } {
  const tab = entry.indexOf('\t')
  return { mode: entry.slice(0, 6), stage: entry.slice(tab - 1, tab), path: entry.slice(tab + 1) }
}

const isOwnFolder = async ({ topLevel }: Quarantine, path: string) => (await kindWithin(topLevel, path)) === 'folder'

/** What stands at a path of a worktree. Behind a link there is nothing: that is another place. */
export async function kindWithin(topLevel: string, path: string): Promise<Kind> {
  const parent = dirname(join(topLevel, path))
  return (await realpath(parent).catch(() => undefined)) === parent ? kindOf(join(topLevel, path)) : 'nothing'
}

export type Kind = 'nothing' | 'file' | 'link' | 'folder' | 'other'

/** What stands at a path, links not followed. */
export async function kindOf(path: string): Promise<Kind> {
  const stats = await lstat(path).catch(() => undefined)
  if (!stats) return 'nothing'
  if (stats.isDirectory()) return 'folder'
  return stats.isFile() ? 'file' : stats.isSymbolicLink() ? 'link' : 'other'
}
