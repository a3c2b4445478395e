import { Problem } from '../contract/errors.ts'
import { commit, treeOf, withCommitted, withWriting } from './commitWork.ts'
import { advance, isBefore, mergeProblem, mergeTrees, refOf } from './merge.ts'
import type { Quarantine } from '../git/quarantine.ts'
import type { Repository } from '../git/repository.ts'
import { withRepositoryLock } from '../git/repositoryLock.ts'

const maxReplayed = 1000

export interface BranchUpdate {
  projectPath: string
  repository: Repository
  /** The worktree of the branch, if there is one: what is uncommitted there is committed first. */
  place: Repository | undefined
  branch: string
  /** The commit that comes in. */
  onto: string
  strategy: 'merge' | 'rebase'
  /** The message of a commit of what is uncommitted, and that of the merge. */
  title: string
  message: string
}

/**
 * Brings a commit into a branch, by a merge or by replaying the branch's own commits on it. The files of its worktree change, too. A
 * conflict changes nothing. Hooks, merge drivers and filters do not run.
 * @returns whether anything was missing, and the branch's commit
 * @throws Problem MERGE_CONFLICT, its details name the files; WORKTREE_DIRTY, CONFLICT
 */
export const updateBranch = (update: BranchUpdate): Promise<{ updated: boolean; commit: string }> =>
  withRepositoryLock(update.repository.commonDir, async () => {
    const { repository, place, branch } = update
    const { work, result } = await withWriting(update.projectPath, repository, place ?? repository, quarantine =>
      place
        ? withCommitted(quarantine, place, update.title, async (made, moveBranch) => {
            const combined = await combine(quarantine, made, update)
            await moveBranch()
            return { work: made, result: combined }
          })
        : combineBranch(quarantine, update),
    )
    if (result !== work) await advance(repository, branch, work, result)
    return { updated: result !== work, commit: result }
  }).catch((error: unknown) => {
    throw mergeProblem(error)
  })

async function combineBranch(quarantine: Quarantine, update: BranchUpdate): Promise<{ work: string; result: string }> {
  const work = await refOf(quarantine, update.branch)
  if (work === undefined) throw new Problem('CONFLICT', `The branch ${update.branch} is not there any more.`)
  return { work, result: await combine(quarantine, work, update) }
}

async function combine(
  quarantine: Quarantine,
  work: string,
  { onto, strategy, message }: BranchUpdate,
): Promise<string> {
  if (await isBefore(quarantine, onto, work)) return work
  if (await isBefore(quarantine, work, onto)) return onto
  if (strategy === 'rebase') return replay(quarantine, work, onto)
  return commit(quarantine, await mergeTrees(quarantine, work, onto), [work, onto], message)
}

/** The branch's own commits on another one, oldest first, each with its author and message. What is there already is left out. */
async function replay(quarantine: Quarantine, work: string, onto: string): Promise<string> {
  const list = await quarantine.run(['rev-list', '--reverse', '--topo-order', '--no-merges', `${onto}..${work}`])
  const commits = list.toString().split('\n').slice(0, -1)
  if (commits.length > maxReplayed)
    throw new Problem(
      'CONFLICT',
      `The branch has ${commits.length} commits of its own, too many to rebase. Merge instead.`,
    )
  let tip = onto
  for (const each of commits) {
    const tree = await pickTree(quarantine, tip, each)
    if (tree === (await treeOf(quarantine, tip))) continue
    const [name, email, date, ...message] = (
      await quarantine.run(['show', '--no-patch', '--no-show-signature', '--format=%an%n%ae%n%aI%n%B', each])
    )
      .toString()
      .split('\n')
    const author = { GIT_AUTHOR_NAME: name!, GIT_AUTHOR_EMAIL: email!, GIT_AUTHOR_DATE: date! }
    tip = await commit(quarantine, tree, [tip], message.join('\n').trimEnd(), author)
  }
  return tip
}

/** The tree of `tip` with the changes of a commit. Only from 2.40 on can Git be told from where to merge: these commits have that one before them. */
async function pickTree(quarantine: Quarantine, tip: string, picked: string): Promise<string> {
  const before = await commit(quarantine, await treeOf(quarantine, `${picked}^`), [], 'before')
  const [ours, theirs] = [await treeOf(quarantine, tip), await treeOf(quarantine, picked)]
  return mergeTrees(
    quarantine,
    await commit(quarantine, ours, [before], 'ours'),
    await commit(quarantine, theirs, [before], 'theirs'),
  )
}
