import { Problem } from '../contract/errors.ts'
import { branchTip } from '../git/commits.ts'
import { committerOf } from '../git/identity.ts'
import { readHead, type Repository } from '../git/workingTrees.ts'
import { withRepositoryLock } from '../git/repositoryLock.ts'
import { withObjects, type ObjectsRun } from '../git/withObjects.ts'
import { advanceBranch } from './advanceBranch.ts'
import { commit, treeOf, withCommitted } from './commitWork.ts'
import { isBefore, mergeProblem, mergeTrees, readAttributes, requireUnfiltered } from './merge.ts'
import type { Worktrees } from './worktrees.ts'

const maxReplayed = 1000

export interface BranchUpdate {
  repository: Repository
  /** The worktree of the branch, if there is one. Uncommitted changes there are committed first. */
  place: Repository | undefined
  /** Whether the board created this worktree. Its files do not go through filters of the repository. */
  isManaged: boolean
  branch: string
  /** The commit to merge in. */
  onto: string
  strategy: 'merge' | 'rebase'
  /** The message of the commit with the uncommitted changes, and of the merge commit. */
  title: string
  message: string
}

/**
 * Adds a commit to a branch, by a merge or by replaying the branch's own commits on it. Also changes the files of its worktree. A conflict
 * changes nothing. No hooks or merge drivers run. Only the filters of the account run.
 * @returns whether the branch lacked any commit, and the branch's new commit
 * @throws Problem MERGE_CONFLICT, whose details name the files; WORKTREE_DIRTY, CONFLICT
 */
export const updateBranch = (
  worktrees: Worktrees,
  update: BranchUpdate,
): Promise<{ updated: boolean; commit: string }> =>
  withRepositoryLock(update.repository.commonDir, async () => {
    const { repository, branch } = update
    // The branch can have moved before the lock was taken.
    const place = update.place && (await readHead(update.place))
    const committer = await committerOf(repository.commonDir)
    const { work, result } = await withObjects(place ?? repository, committer, run =>
      place
        ? withCommitted(worktrees, run, place, { title: update.title, isWhole: false }, async (made, moveBranch) => {
            const combined = await combine(run, made, update)
            if (!update.isManaged) await requireUnfiltered(run, place, made, combined)
            await moveBranch()
            return { work: made, result: combined }
          })
        : combineBranch(run, update),
    )
    if (result !== work) await advanceBranch(worktrees, repository, branch, work, result)
    return { updated: result !== work, commit: result }
  }).catch((error: unknown) => {
    throw mergeProblem(error)
  })

async function combineBranch(run: ObjectsRun, update: BranchUpdate): Promise<{ work: string; result: string }> {
  const work = await branchTip(update.repository.commonDir, update.branch)
  if (work === undefined) throw new Problem('CONFLICT', `The branch ${update.branch} no longer exists.`)
  return { work, result: await combine(run, work, update) }
}

async function combine(run: ObjectsRun, work: string, { onto, strategy, message }: BranchUpdate): Promise<string> {
  if (await isBefore(run, onto, work)) return work
  if (await isBefore(run, work, onto)) return onto
  await readAttributes(run, onto)
  if (strategy === 'rebase') return replay(run, work, onto)
  return commit(run, await mergeTrees(run, work, onto), [work, onto], message)
}

/**
 * Replays the branch's own commits on another one, oldest first, each with its author and message. Skips changes that already
 * exist there.
 */
async function replay(run: ObjectsRun, work: string, onto: string): Promise<string> {
  const list = await run(['rev-list', '--reverse', '--topo-order', '--no-merges', `${onto}..${work}`])
  const commits = list.toString().split('\n').slice(0, -1)
  if (commits.length > maxReplayed)
    throw new Problem('CONFLICT', `The branch has ${commits.length} new commits, too many to rebase. Merge instead.`)
  let tip = onto
  for (const each of commits) {
    const tree = await pickTree(run, tip, each)
    if (tree === (await treeOf(run, tip))) continue
    const [name, email, date, ...message] = (
      await run(['show', '--no-patch', '--no-show-signature', '--format=%an%n%ae%n%aI%n%B', each])
    )
      .toString()
      .split('\n')
    const author = { GIT_AUTHOR_NAME: name!, GIT_AUTHOR_EMAIL: email!, GIT_AUTHOR_DATE: date! }
    tip = await commit(run, tree, [tip], message.join('\n').trimEnd(), author)
  }
  return tip
}

/**
 * The tree of `tip` with the changes of a commit. Only Git 2.40 and later accept an explicit merge base, so temporary commits with that
 * base as their parent are merged.
 */
async function pickTree(run: ObjectsRun, tip: string, picked: string): Promise<string> {
  const commitUnsigned = async (tree: string, parents: readonly string[]) =>
    (await run(['commit-tree', tree, ...parents.flatMap(parent => ['-p', parent]), '-m', 'temporary']))
      .toString()
      .trim()
  const before = await commitUnsigned(await treeOf(run, `${picked}^`), [])
  const [ours, theirs] = [await treeOf(run, tip), await treeOf(run, picked)]
  return mergeTrees(run, await commitUnsigned(ours, [before]), await commitUnsigned(theirs, [before]))
}
