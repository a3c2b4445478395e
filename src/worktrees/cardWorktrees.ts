import { mkdir, rename, rm, rmdir } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { Problem } from '../contract/errors.ts'
import { addWorktree, finishWorktree, unfinishedPath } from '../git/addWorktree.ts'
import type { ProjectFolder } from '../git/folderRecord.ts'
import { requireNotInUse } from '../git/branchInUse.ts'
import { kindOf } from '../git/kindOf.ts'
import { removeFiles } from './removeFiles.ts'
import { findProjectRepository, type CheckoutState } from '../git/checkoutState.ts'
import { commitOf, resolveCommits } from '../git/commits.ts'
import { git, GitFailed, gitOutput, inGitDir } from '../git/git.ts'
import { isFiltered } from '../git/accountSettings.ts'
import { takeIndex } from '../git/indexLock.ts'
import { withRepositoryLock } from '../git/repositoryLock.ts'
import { removeFolder } from '../git/removeFolder.ts'
import {
  findWorkingTree,
  isMain,
  listWorkingTrees,
  readHead,
  realPlace,
  recordPlace,
  type Repository,
  type WorkingTree,
} from '../git/workingTrees.ts'
import { copyIgnoredFiles, type Copied } from './copyIgnoredFiles.ts'
import { dropShadows } from './gitView.ts'
import type { WorktreePlan } from './planWorktree.ts'
import type { Worktrees } from './worktrees.ts'

const checkoutTimeoutMs = 10 * 60_000

/** The marker file next to a worktree which records that its project's setup has run in it. */
export const setUpMark = (worktreePath: string): string => `${worktreePath}.set-up`

/**
 * Ensures that a card's worktree exists as planned.
 * - A deleted folder is restored from its branch, even if it was `formerly` elsewhere. Anything else in its place is moved aside.
 * - A new worktree gets copies of the ignored files that `.worktreeinclude` of its base commit and `copied` name.
 * - No hook and no filter of the repository's configuration runs. The filters of the account's configuration do.
 * Returns the plan with the effective base commit.
 * @throws Problem CONFLICT, DISK_FULL
 */
export async function makeWorktree(
  worktrees: Worktrees,
  projectPath: string,
  { repository }: CheckoutState,
  plan: WorktreePlan,
  copied: Copied,
  formerly: string | null = null,
): Promise<WorktreePlan> {
  return withRepositoryLock(repository.commonDir, () =>
    makeOnce(worktrees, projectPath, repository, plan, copied, formerly).catch(error => {
      throw toProblem(error)
    }),
  )
}

async function makeOnce(
  worktrees: Worktrees,
  projectPath: string,
  repository: Repository,
  plan: WorktreePlan,
  copied: Copied,
  formerly: string | null,
): Promise<WorktreePlan> {
  if (await stands(worktrees, repository, plan, formerly)) return plan
  await moveAside(plan.path)
  await removeFolder(unfinishedPath(plan.path))
  for (const path of new Set([plan.path, unfinishedFolder(plan.path), formerly ?? plan.path]))
    await forget(worktrees, repository, path)
  await mkdir(dirname(plan.path), { recursive: true, mode: 0o700 })
  await rm(setUpMark(plan.path), { force: true })
  return checkOut(repository, plan, async (place, commit, baseCommit) => {
    await fill(worktrees, place, commit)
    await copyIgnoredFiles(worktrees, projectPath, repository, place, baseCommit, copied)
  })
}

/** Whether the worktree exists. Repairs its connection to the repository if one of them was moved. */
async function stands(
  worktrees: Worktrees,
  repository: Repository,
  plan: WorktreePlan,
  formerly: string | null,
): Promise<boolean> {
  if ((await kindOf(plan.path)) !== 'folder') return false
  const found = (await findWorkingTree(repository, plan.path)) ?? (await reconnectMoved(repository, plan, formerly))
  return found !== undefined && worktrees.run('repairPointer', { worktree: found })
}

/**
 * Updates the repository's record of a worktree with the planned place, after the board's folders were moved. The record is the one of a
 * missing folder that was the card's, or has its branch. `git worktree repair` would write to the `.git` of every worktree, outside the
 * sandbox.
 */
async function reconnectMoved(
  repository: Repository,
  { path, branch }: WorktreePlan,
  formerly: string | null,
): Promise<WorkingTree | undefined> {
  const former = formerly === null ? undefined : await realPlace(formerly)
  for (const tree of await listWorkingTrees(repository)) {
    if (isMain(tree) || (await kindOf(tree.topLevel)) !== 'nothing') continue
    if (tree.topLevel !== former && (await readHead(tree)).branch !== branch) continue
    const moved = { ...tree, topLevel: await realPlace(path) }
    await recordPlace(moved)
    return moved
  }
  return undefined
}

const requireWorktree = async (repository: Repository, path: string): Promise<WorkingTree> =>
  (await findWorkingTree(repository, path)) ?? fail('The new folder is not a worktree of the repository.')

/** Renames the file or folder at a path, or removes it if it is an empty folder. Opens nothing in it. */
async function moveAside(path: string): Promise<void> {
  if ((await kindOf(path)) === 'nothing') return
  await rmdir(path).catch((error: NodeJS.ErrnoException) => {
    if (!['ENOTEMPTY', 'EEXIST', 'ENOTDIR'].includes(error.code ?? '')) throw error
    return rename(path, `${path}.aside-${Date.now()}`)
  })
}

/** The folder that Git adds before it is moved to a path. Git names its record after the folder. */
const unfinishedFolder = (path: string): string => join(unfinishedPath(path), basename(path))

/** @param prepare fills the folder with the files of the commit, before the folder is moved to its place */
async function checkOut(
  repository: Repository,
  plan: WorktreePlan,
  prepare: (place: WorkingTree, commit: string, baseCommit: string) => Promise<void>,
): Promise<WorktreePlan> {
  // The steps below handle an existing branch and a missing base.
  const added =
    plan.baseCommit === ''
      ? undefined
      : await addWorktree(repository, plan, place => prepare(place, plan.baseCommit, plan.baseCommit))
  if (added) return plan
  const { commonDir, head } = repository
  const [tip, base] = await resolveCommits(commonDir, [`refs/heads/${plan.branch}`, plan.baseCommit])
  const [hasBranch, baseCommit] = [tip !== undefined, base ?? head ?? fail('The repository no longer has any commits.')]
  const unfinished = unfinishedFolder(plan.path)
  const args = hasBranch ? [unfinished, plan.branch] : ['--no-track', '-b', plan.branch, unfinished, baseCommit]
  const options = ['--quiet', '--no-checkout', '--lock']
  const { exitCode, stderr } = await git(commonDir, ['worktree', 'add', ...options, ...args], {
    env: inGitDir(commonDir),
    timeoutMs: checkoutTimeoutMs,
  })
  if (exitCode === 0) {
    const place = await requireWorktree(repository, unfinished)
    await prepare(place, tip ?? baseCommit, baseCommit)
    const finished = { ...place, topLevel: await realPlace(plan.path) }
    await recordPlace(finished)
    await finishWorktree(finished, unfinished)
    await rmdir(unfinishedPath(plan.path))
    return { ...plan, baseCommit }
  }
  if (/already (checked out|used by worktree)/.test(stderr))
    fail("The card's branch is checked out in another worktree. Attach that one, or switch it to another branch.")
  throw new GitFailed('failed', `git worktree add ended with ${exitCode}: ${stderr.trim()}`)
}

/** Writes a commit's files into a worktree that has none. Filters run in a separate process. */
async function fill(worktrees: Worktrees, place: WorkingTree, commit: string): Promise<void> {
  const index = await takeIndex(place)
  try {
    const move = { from: null, to: commit, index: 'index', isTrial: false }
    const run = (await isFiltered(place, commit)) ? worktrees.run : worktrees.prepare
    await run('moveFiles', { worktree: place, move }, index.write)
    await index.install()
  } finally {
    await index.release()
  }
}

/**
 * Removes a card's worktree including ignored files. A missing worktree is not an error. The caller has ensured that no work is
 * lost. Its branch is deleted only if another branch or tag contains all its commits.
 * @returns whether the branch still exists
 * @throws Problem CONFLICT
 */
export async function dropWorktree(
  worktrees: Worktrees,
  project: ProjectFolder,
  path: string,
  branch: string | null,
): Promise<boolean> {
  const repository = await findProjectRepository(project)
  if (!repository) return removeFiles(worktrees, path).then(() => false)
  return withRepositoryLock(repository.commonDir, async () => {
    await removeFiles(worktrees, path)
    await removeFolder(unfinishedPath(path))
    await rm(setUpMark(path), { force: true })
    await forget(worktrees, repository, path)
    return branch !== null && !(await dropBranch(repository, branch))
  }).catch(error => {
    throw toProblem(error)
  })
}

/** Deletes a branch without its own commits that no Git command uses. @returns whether it was deleted */
async function dropBranch(repository: Repository, branch: string): Promise<boolean> {
  const ref = `refs/heads/${branch}`
  const { commonDir } = repository
  const env = inGitDir(commonDir)
  const tip = await commitOf(commonDir, ref)
  if (tip === undefined) return true
  const holders = (
    await gitOutput(
      commonDir,
      ['for-each-ref', '--contains', tip, '--format=%(refname)', 'refs/heads', 'refs/remotes', 'refs/tags'],
      { env },
    )
  )
    .toString()
    .split('\n')
    .slice(0, -1)
  if (!holders.some(holder => holder !== ref)) return false
  const isFree = await requireNotInUse(repository, branch).then(
    () => true,
    () => false,
  )
  return isFree && (await git(commonDir, ['update-ref', '-d', ref, tip], { env })).exitCode === 0
}

/** Removes a missing folder from the repository's list of worktrees, and the Git folder that its agents had. */
async function forget(worktrees: Worktrees, repository: Repository, path: string): Promise<void> {
  const { commonDir } = repository
  const listed = await findWorkingTree(repository, path)
  if ((await kindOf(path)) !== 'nothing') return
  await dropShadows(worktrees, commonDir, await realPlace(path))
  const args = ['worktree', 'remove', '--force', '--force']
  if (listed) await git(commonDir, [...args, listed.topLevel], { env: inGitDir(commonDir) })
}

function toProblem(error: unknown): unknown {
  if (error instanceof Problem) return error
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'ENOSPC' || /No space left/.test(message)) return new Problem('DISK_FULL', undefined, { cause: error })
  if (error instanceof GitFailed && error.reason === 'timeout')
    return new Problem('CONFLICT', 'Git took too long to create the worktree.', { cause: error })
  const filter = /smudge filter (\S+) failed/.exec(message)?.[1]
  if (filter !== undefined)
    return new Problem(
      'CONFLICT',
      `The filter ${filter} of your Git configuration failed, so the worktree could not be created. If large files are missing, run git lfs fetch in the project's folder. Otherwise, install the filter's program where the sandbox shows it, for example in /usr/local/bin.`,
      { cause: error },
    )
  return new Problem('CONFLICT', 'The worktree could not be created or removed.', { cause: error })
}

function fail(message: string): never {
  throw new Problem('CONFLICT', message)
}
