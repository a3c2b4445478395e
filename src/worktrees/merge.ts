import { invalid, Problem, refuse } from '../contract/errors.ts'
import { branchTip, isAncestor } from '../git/commits.ts'
import { configurationOf } from '../git/configuration.ts'
import { repositoryFilters, withFilter } from '../git/filters.ts'
import { GitFailed, gitReason } from '../git/git.ts'
import { nulSeparated } from '../git/fileNames.ts'
import { committerOf } from '../git/identity.ts'
import { findProjectRepository } from '../git/checkoutState.ts'
import type { ProjectFolder } from '../git/folderRecord.ts'
import { findWorkingTree, readHead, type Repository, type WorkingTree } from '../git/workingTrees.ts'
import { withRepositoryLock } from '../git/repositoryLock.ts'
import { withObjects, type ObjectsRun } from '../git/withObjects.ts'
import { advanceBranch, checkoutOf, recoverCheckout, tryToAdvance } from './advanceBranch.ts'
import { filteredProblem } from './filteredProblem.ts'
import { commit, requireSynced, treeOf, withCommitted } from './commitWork.ts'
import { namePaths, pathDetails } from './namePaths.ts'
import { bringSubmodules, type SubmodulePlaces } from './submodules.ts'
import { syncBranch, syncWorktreesOn } from './syncBranch.ts'
import type { Worktrees } from './worktrees.ts'

export interface MergeRequest {
  project: ProjectFolder
  /**
   * The card's worktree, if it exists: its uncommitted changes are committed there and also merged. Null merges only the branch.
   */
  worktreePath: string | null
  branch: string | null
  /** The target branch. Undefined for the current one of the project's folder. */
  into: string | undefined
  squash: boolean
  /** The commit at which the work started. A squash leaves earlier commits unchanged. */
  base: string | null
  /** The message of the commits. */
  title: string
  mode: MergeMode
  /** The tree that the work must have. Undefined accepts any. */
  tree?: string
  /** The last merge of this work. A squash merge leaves no other trace in the target. */
  earlier?: EarlierMerge
}
/**
 * - `merge`: moves the target branch.
 * - `prepare`: creates the merged commit, and commits the work to its own branch. `publishMerge` moves the target branch.
 * - `try`: checks only if the work could be merged.
 */
export type MergeMode = 'merge' | 'prepare' | 'try'
/** A merge: its branch, the branch's commit after it, and the commit that was merged. */
export interface EarlierMerge {
  into: string
  commit: string
  head: string
}
/**
 * `merged` is false if the branch was up to date. `from` is the branch's commit before the merge, `commit` the one after it, or that of the
 * earlier merge.
 */
export interface Merged extends EarlierMerge {
  merged: boolean
  from: string
}

/**
 * Merges a card's work into a branch, atomically: with a merge commit, or with `squash` a single commit. Also changes the files of a
 * checked-out branch. No hooks or merge drivers run. Only the filters of the account run.
 * @throws Problem NOT_A_GIT_REPOSITORY; VALIDATION_FAILED for an unknown branch; MERGE_CONFLICT, whose details name the files;
 * WORKTREE_DIRTY if the checked-out branch has local changes; GATE_NOT_PASSED if the work has another tree; CONFLICT
 */
export async function mergeWork(worktrees: Worktrees, request: MergeRequest): Promise<Merged> {
  const repository = (await findProjectRepository(request.project)) ?? refuse('NOT_A_GIT_REPOSITORY')
  const into =
    request.into ??
    repository.branch ??
    refuse('CONFLICT', "The project's folder has a detached HEAD. Specify the target branch.")
  const { commonDir } = repository
  const worktree = request.worktreePath === null ? undefined : await findWorkingTree(repository, request.worktreePath)
  await syncWorktreesOn(worktrees, repository, into)
  if (worktree) await requireSynced(worktrees, worktree)
  const merged = await withRepositoryLock(commonDir, () =>
    mergeOnce(worktrees, request, repository, worktree, into).catch(error => {
      throw mergeProblem(error)
    }),
  )
  // Agents with separate Git folders see the moved branches.
  await syncWorktreesOn(worktrees, repository, into)
  if (worktree) await syncBranch(worktrees, worktree)
  return merged
}

async function mergeOnce(
  worktrees: Worktrees,
  request: MergeRequest,
  repository: Repository,
  worktree: WorkingTree | undefined,
  into: string,
): Promise<Merged> {
  const { commonDir } = repository
  const place = worktree && (await readHead(worktree))
  const target = (await branchTip(commonDir, into)) ?? unknownBranch()
  if (place?.branch === into) throw new Problem('CONFLICT', "This is the card's own branch.")
  const committer = await committerOf(commonDir)
  const isTrial = request.mode === 'try'
  const signing = isTrial ? null : committer.signing
  return withObjects({ commonDir, head: target }, { ...committer, signing }, async run => {
    const mergeInto = async (work: string): Promise<Merged> => {
      if (await isMergedAlready(run, request.earlier, { into, target, work }))
        return { merged: false, into, from: target, commit: request.earlier!.commit, head: work }
      if (request.tree !== undefined && (await treeOf(run, work)) !== request.tree)
        throw new Problem('GATE_NOT_PASSED', 'The files have changed since the gates passed. Check the card again.')
      const result = await combine(run, target, work, request)
      await requireUnfiltered(run, repository, target, result)
      if (result !== target) {
        const change = { from: target, to: result, tip: work, isTrial }
        await bringSubmodules(worktrees, run, await submodulePlaces(repository, place, into), change)
        await (request.mode === 'merge' ? advanceBranch : tryToAdvance)(worktrees, repository, into, target, result)
      }
      if (request.mode === 'merge') await requireContained(commonDir, into, result)
      return { merged: result !== target, into, from: target, commit: result, head: work }
    }
    if (place)
      return withCommitted(worktrees, run, place, { title: request.title, isWhole: true }, async (work, moveBranch) => {
        const merged = await mergeInto(work)
        if (isTrial) return merged
        // If the worktree cannot move to its new commit, its files are unchanged and no work is lost.
        await moveBranch().catch(() => {})
        return merged
      })
    const tip = request.branch === null ? undefined : await branchTip(commonDir, request.branch)
    return mergeInto(tip ?? refuse('CONFLICT', 'The card has no branch to merge.'))
  })
}

/**
 * Moves a branch to a prepared merge, and the files of the working tree on that branch. If the branch already contains it, only completes
 * what a killed server has begun.
 * @throws Problem NOT_A_GIT_REPOSITORY; WORKTREE_DIRTY if the checked-out branch has local changes; CONFLICT if the branch has moved
 */
export async function publishMerge(
  worktrees: Worktrees,
  project: ProjectFolder,
  { into, from, commit }: Pick<Merged, 'into' | 'from' | 'commit'>,
): Promise<void> {
  const repository = (await findProjectRepository(project)) ?? refuse('NOT_A_GIT_REPOSITORY')
  const { commonDir } = repository
  await syncWorktreesOn(worktrees, repository, into)
  await withRepositoryLock(commonDir, async () => {
    if (await isContained(commonDir, into, commit)) return void (await recoverCheckout(repository, into))
    await advanceBranch(worktrees, repository, into, from, commit)
    await requireContained(commonDir, into, commit)
  }).catch(error => {
    throw mergeProblem(error)
  })
  await syncWorktreesOn(worktrees, repository, into)
}

/** Whether a prepared merge has reached its branch. */
export async function isPublished(
  project: ProjectFolder,
  { into, commit }: Pick<Merged, 'into' | 'commit'>,
): Promise<boolean> {
  const repository = (await findProjectRepository(project)) ?? refuse('NOT_A_GIT_REPOSITORY')
  return isContained(repository.commonDir, into, commit)
}

/** Whether a branch contains a commit. */
async function isContained(commonDir: string, branch: string, commit: string): Promise<boolean> {
  const tip = await branchTip(commonDir, branch)
  return tip !== undefined && (await isAncestor(commonDir, commit, tip))
}

/** Ensures that a branch still contains a commit, because another process can have moved it. @throws Problem CONFLICT */
async function requireContained(commonDir: string, branch: string, commit: string): Promise<void> {
  if (!(await isContained(commonDir, branch, commit)))
    throw new Problem('CONFLICT', `${branch} changed during the merge and does not contain it. Merge again.`)
}

const isMergedAlready = async (
  run: ObjectsRun,
  earlier: EarlierMerge | undefined,
  { into, target, work }: { into: string; target: string; work: string },
): Promise<boolean> => earlier?.into === into && earlier.head === work && (await isBefore(run, earlier.commit, target))

/** Merges the work into the target. Returns the target itself if it already contains the work. */
async function combine(
  run: ObjectsRun,
  target: string,
  work: string,
  { squash, base, title }: MergeRequest,
): Promise<string> {
  if (await isBefore(run, work, target)) return target
  await readAttributes(run, target)
  const tree = await mergeTrees(run, target, work)
  if (squash)
    return tree === (await treeOf(run, target))
      ? target
      : commit(run, tree, await squashParents(run, target, work, base), title)
  return commit(run, tree, [target, work], `Merge: ${title}`)
}

/** Work that started at a fetched commit includes the commits before it, which must not become part of the squashed commit. */
async function squashParents(run: ObjectsRun, target: string, work: string, base: string | null): Promise<string[]> {
  if (base === null || !(await isBefore(run, base, work)) || (await isBefore(run, base, target))) return [target]
  return (await isBefore(run, target, base)) ? [base] : [target, base]
}

/** Loads a commit into the index, from which Git reads the merge attributes of files. */
export const readAttributes = (run: ObjectsRun, commit: string): Promise<unknown> => run(['read-tree', commit])

/** Whether a commit equals or precedes the other. */
export const isBefore = (run: ObjectsRun, one: string, other: string): Promise<boolean> =>
  run(['merge-base', '--is-ancestor', one, other]).then(
    () => true,
    () => false,
  )

/**
 * Ensures that no file with a filter of the repository differs between two commits: the board does not run these filters, so it
 * cannot write the file, and no user has read the change.
 * @throws Problem CONFLICT that names the files
 */
export async function requireUnfiltered(run: ObjectsRun, place: WorkingTree, from: string, to: string): Promise<void> {
  const filters = repositoryFilters(await configurationOf(place))
  if (filters.length === 0 || from === to) return
  const changed = nulSeparated(await run(['diff-tree', '-r', '-z', '--name-only', '--no-renames', from, to]))
  const found = new Set<string>()
  // A change can add or remove the attribute.
  for (const commit of [from, to]) {
    await readAttributes(run, commit)
    for (const path of await withFilter(run, changed, filters, ['--cached'])) found.add(path)
  }
  if (found.size > 0) throw filteredProblem([...found])
}

/** Merges the trees of two commits, and returns the merged tree. @throws Problem MERGE_CONFLICT */
export async function mergeTrees(run: ObjectsRun, target: string, work: string): Promise<string> {
  const output = await run(['merge-tree', '--write-tree', '-z', '--name-only', '--no-messages', target, work], {
    exitCodes: [0, 1],
  })
  const [tree, ...files] = nulSeparated(output)
  if (files.length === 0) return tree!
  throw new Problem('MERGE_CONFLICT', `The merge has conflicts in ${namePaths(files)}. Nothing was changed.`, {
    details: pathDetails(files, 'has a conflict'),
  })
}

/** The submodules of the working tree in which the branch is checked out, or else those of the project's folder. */
const submodulePlaces = async (
  repository: Repository,
  worktree: Repository | undefined,
  into: string,
): Promise<SubmodulePlaces> => ({ repository, worktree, target: (await checkoutOf(repository, into)) ?? repository })

export function mergeProblem(error: unknown): unknown {
  if (!(error instanceof GitFailed)) return error
  if (/usage: git merge-tree|unknown option/.test(error.message))
    return new Problem('CONFLICT', 'Merging requires Git 2.38 or later on the server.', { cause: error })
  if (/unrelated histories/.test(error.message))
    return new Problem('CONFLICT', 'The branches have no common commit.', { cause: error })
  return new Problem(
    'CONFLICT',
    error.reason === 'timeout'
      ? 'Git took too long to merge.'
      : `Git could not merge, and nothing was changed. ${gitReason(error)}`,
    { cause: error },
  )
}

function unknownBranch(): never {
  throw invalid('into', 'must be a local branch of the repository.')
}
