import { cacheByCommit } from '../git/commitCache.ts'
import type { ProjectFolder } from '../git/folderRecord.ts'
import { kindOf } from '../git/kindOf.ts'
import { findProjectRepository } from '../git/checkoutState.ts'
import { GitFailed, gitOutput, inGitDir } from '../git/git.ts'
import { submoduleFillCommand } from '../git/submodules.ts'
import { readHead, type Repository, type WorkingTree } from '../git/workingTrees.ts'
import { findPlace, findUsable } from './findPlace.ts'
import { syncBranch } from './syncBranch.ts'
import { isWorkingTree } from './worktreeMounts.ts'
import type { Worktrees } from './worktrees.ts'

/**
 * Returns the worktree of a repository at a path, by the repository's own list. Returns undefined if the folder is missing, or was replaced
 * by one without a `.git` file.
 */
export async function worktreeOf(repository: WorkingTree, path: string): Promise<Repository | undefined> {
  const found = await findUsable(repository, path)
  return found && readHead(found)
}

/** Returns the worktree like `worktreeOf`, and takes over the commits of an agent in a sandbox there. */
export async function syncedWorktree(
  worktrees: Worktrees,
  repository: WorkingTree,
  path: string | null,
): Promise<Repository | undefined> {
  const found = path === null ? undefined : await worktreeOf(repository, path)
  if (!found || (await syncBranch(worktrees, found)).state === 'none') return found
  return readHead(found)
}

/**
 * Whether deleting a worktree loses no work. Work is an uncommitted or untracked change in the worktree or in a repository inside it. Work
 * is also a commit that no branch except `branch` (the card's branch) contains, unless the commit `landed` contains it. A missing folder is
 * clean. A folder that Git cannot read is not clean.
 * @throws Problem CONFLICT if this machine has no Git
 */
export async function isClean(
  worktrees: Worktrees,
  project: ProjectFolder,
  worktreePath: string,
  branch: string | null,
  landed?: string,
): Promise<boolean> {
  const kind = await kindOf(worktreePath)
  if (kind !== 'folder') return kind === 'nothing'
  const worktree = await findPlace(project, worktreePath)
  if (isWorkingTree(worktree) && (await syncBranch(worktrees, worktree)).state === 'refused') return false
  try {
    return await worktrees.run('isClean', { worktree, branch, landed })
  } catch (error) {
    if (error instanceof GitFailed) return false
    throw error
  }
}

/** The submodules of a worktree that have no files, and the command that fills them. */
export interface EmptySubmodules {
  paths: string[]
  fillCommand: string
}

/** Finds the submodules of a project's worktree that have no files; null if there are none. @throws GitFailed, GitMissing, Problem */
export async function findEmptySubmodules(
  worktrees: Worktrees,
  project: ProjectFolder,
  worktreePath: string,
): Promise<EmptySubmodules | null> {
  const repository = await findProjectRepository(project)
  const worktree = repository && (await worktreeOf(repository, worktreePath))
  if (!repository || worktree?.head === undefined) return null
  const { commonDir, head } = worktree
  // Most repositories have none, and a process of a worktree takes time to start.
  const paths = (await namesSubmodules(commonDir, head)) ? await worktrees.run('listEmptySubmodules', { worktree }) : []
  return paths.length > 0 ? { paths, fillCommand: await submoduleFillCommand(repository) } : null
}

const namesSubmodules = cacheByCommit(async (commonDir, commit) => {
  const args = ['ls-tree', '--name-only', commit, '--', '.gitmodules']
  return (await gitOutput(commonDir, args, { env: inGitDir(commonDir) })).length > 0
})
