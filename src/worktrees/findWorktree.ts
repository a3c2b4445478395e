import { readdir, realpath } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { kindOf } from '../git/kindOf.ts'
import { git, GitFailed } from '../git/git.ts'
import { findRepository, recordedPlace, type Repository } from '../git/repository.ts'
import { findPlace } from './findPlace.ts'
import { syncBranch } from './syncBranch.ts'
import type { Worktrees } from './worktrees.ts'
import { readPlain } from '../git/untrustedFiles.ts'

const maxRecordBytes = 8192
const maxListBytes = 64 * 1024 * 1024

/** Whether a folder is a worktree of another folder's repository, by the repository's own list. */
export async function belongsTo(worktreePath: string, projectPath: string): Promise<boolean> {
  const project = await realpath(projectPath).then(findRepository, () => undefined)
  return project !== undefined && (await worktreeOf(project, worktreePath)) !== undefined
}

/** The worktree at a path, if it is one by the repository's own list. */
export async function worktreeOf(repository: Repository, path: string): Promise<Repository | undefined> {
  const worktree = await realpath(path).catch(() => undefined)
  const found = worktree === undefined ? undefined : await findRepository(worktree)
  if (!found || found.topLevel !== worktree || found.commonDir !== repository.commonDir) return undefined
  return (await recordedPlace(found)) === worktree ? found : undefined
}

/** The worktree at a path as `worktreeOf` finds it, with what an agent behind walls has committed taken over. */
export async function syncedWorktree(
  worktrees: Worktrees,
  repository: Repository,
  path: string | null,
): Promise<Repository | undefined> {
  if (path === null || (await kindOf(path)) !== 'folder') return undefined
  await syncBranch(worktrees, path)
  return worktreeOf(repository, path)
}

/** The worktrees in a repository's list, missing ones included, with their branches. */
export async function listWorktrees(path: string): Promise<Array<{ path: string; branch: string | null }>> {
  const { stdout } = await git(path, ['worktree', 'list', '--porcelain', '-z'], { maxBytes: maxListBytes })
  return stdout
    .toString()
    .split('\0\0')
    .filter(entry => entry.startsWith('worktree '))
    .map(entry => {
      const lines = entry.split('\0')
      const branch = lines.find(line => line.startsWith('branch refs/heads/'))?.slice('branch refs/heads/'.length)
      return { path: lines[0]!.slice('worktree '.length), branch: branch ?? null }
    })
}

/** The folders of the worktrees in a repository's list, missing ones included, without a process; not that of the repository itself. */
export async function listPlaces(commonDir: string): Promise<string[]> {
  const folder = join(commonDir, 'worktrees')
  const names = await readdir(folder).catch(() => [])
  const places = await Promise.all(
    names.map(async name => {
      const record = await readPlain(join(folder, name, 'gitdir'), maxRecordBytes).catch(() => undefined)
      return record === undefined ? [] : [dirname(resolve(folder, name, record.trimEnd()))]
    }),
  )
  return places.flat()
}

/**
 * Whether deleting a worktree loses nothing: no uncommitted or untracked change, here or in a repository inside, and
 * no commit that only `branch` (the card's branch) or no branch holds and that is not part of the commit `landed`. A missing
 * folder is clean. A folder that Git cannot read is not.
 * @throws Problem CONFLICT if this machine has no Git
 */
export async function isClean(
  worktrees: Worktrees,
  worktreePath: string,
  branch: string | null,
  landed?: string,
): Promise<boolean> {
  const kind = await kindOf(worktreePath)
  if (kind !== 'folder') return kind === 'nothing'
  if ((await syncBranch(worktrees, worktreePath)).state === 'refused') return false
  try {
    return await worktrees.run('isClean', { worktree: await findPlace(worktreePath), branch, landed })
  } catch (error) {
    if (error instanceof GitFailed) return false
    throw error
  }
}
