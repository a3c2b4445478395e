import { readCheckoutState, type CheckoutState } from '../git/checkoutState.ts'
import { commitOf, isAncestor } from '../git/commits.ts'
import { Problem } from '../contract/errors.ts'
import { inOneLine } from '../cardWork/changes.ts'
import * as pulls from '../domain/forges/pullRequests.ts'
import { resumedPhase } from '../domain/forges/pullRequestPhases.ts'
import { workIn } from '../cardWork/repositoryWork.ts'
import { fetchUpstream, type Fetched } from '../git/fetchUpstream.ts'
import { findRemote } from '../git/remotes.ts'
import { updateBranch, type BranchUpdate } from '../worktrees/updateBranch.ts'
import { syncedWorktree } from '../worktrees/findWorktree.ts'
import { forgeOf, type ProjectRow } from '../store/projects/projects.ts'
import type { PullRequestRow } from '../store/forges/pullRequests.ts'
import { hasActiveAgent } from '../views/cards.ts'
import { decideHead, type HeadRelation } from './decidePullRequest.ts'
import { readContext, reportedKeys, type LoopDependencies, type PullRequestContext } from './loopDependencies.ts'
import { handToUsers } from './stopLoop.ts'

/** The prefix of a recorded conflict: the head on the forge and the branch's commit follow. */
const conflictPrefix = 'conflict:'

/** Fetches a branch of the project's remote, and updates its remote-tracking ref. */
export async function fetchBranch(
  dependencies: Pick<LoopDependencies, 'reachOf'>,
  project: Pick<ProjectRow, 'forge' | 'forgeCredentialId'>,
  { repository }: CheckoutState,
  branch: string,
): Promise<Fetched> {
  const { name, url } = await findRemote(repository, forgeOf(project).remote)
  const ref = { remote: name, url, ref: `refs/heads/${branch}`, tracking: `refs/remotes/${name}/${branch}` }
  return fetchUpstream(repository, ref, await dependencies.reachOf(project))
}

/**
 * Compares the head on the forge with the card's branch. Commits that others have pushed on top are merged into the card's
 * branch, and a user's own push resumes the agent. A head without the board's pushed commits is not touched, and users are
 * notified.
 * @returns whether the board can push on top of it
 */
export async function followHead(dependencies: LoopDependencies, context: PullRequestContext): Promise<boolean> {
  const { row } = context
  const head = row.headCommit
  if (head === null || head === row.pushedCommit) return true
  const { card, project } = await workIn(dependencies.db, context.card, context.project, row.repository)
  const checkout = await readCheckoutState(project)
  if (!checkout) return false
  const place = await syncedWorktree(dependencies.worktrees, checkout.repository, card.worktreePath)
  const tip = await commitOf(checkout.repository.commonDir, `refs/heads/${row.branch}`)
  const conflict = `${conflictPrefix}${head}:${tip}`
  const relation = await findRelation(dependencies, { project, checkout, row, head, tip, conflict })
  switch (decideHead(relation, hasActiveAgent(card))) {
    case 'accept':
      return acceptHead(dependencies, context, head)
    case 'wait':
      return false
    case 'handOver':
      return recordProblem(
        dependencies,
        context,
        `The branch ${row.branch} was replaced on the forge, and no longer contains the commits that the card has pushed. Nothing was overwritten. Merge the two branches, then push.`,
      )
    case 'merge': {
      const work = { repository: checkout.repository, place, isManaged: card.worktreeManaged === 1, branch: row.branch }
      const refused = await mergeHead(dependencies, work, head, inOneLine(card.title))
      if (refused === undefined) return acceptHead(dependencies, context, head)
      return recordProblem(dependencies, context, refused.reason, refused.isConflict ? conflict : undefined)
    }
  }
}

async function findRelation(
  dependencies: LoopDependencies,
  {
    project,
    checkout,
    row,
    head,
    tip,
    conflict,
  }: {
    project: Pick<ProjectRow, 'forge' | 'forgeCredentialId'>
    checkout: CheckoutState
    row: PullRequestRow
    head: string
    tip: string | undefined
    conflict: string
  },
): Promise<HeadRelation> {
  const { commonDir } = checkout.repository
  const contains = async (commit: string, ancestor: string) =>
    (await commitOf(commonDir, ancestor)) !== undefined && isAncestor(commonDir, ancestor, commit)
  if (tip !== undefined && (await contains(tip, head))) return 'known'
  if (row.phase === 'handedOver' && reportedKeys(row).includes(conflict)) return 'conflicting'
  // A known commit is not fetched again at each check, such as for a pull request that was handed to a person.
  if ((await commitOf(commonDir, head)) === undefined) {
    const fetched = await fetchBranch(dependencies, project, checkout, row.branch)
    if ('reason' in fetched || fetched.commit !== head) return 'unavailable'
  }
  return row.pushedCommit === null || (await contains(head, row.pushedCommit)) ? 'ahead' : 'replaced'
}

/** Merges into the card's branch the commits that others have pushed. @returns why the merge was impossible */
async function mergeHead(
  { worktrees }: LoopDependencies,
  work: Pick<BranchUpdate, 'repository' | 'place' | 'isManaged' | 'branch'>,
  onto: string,
  title: string,
): Promise<{ reason: string; isConflict: boolean } | undefined> {
  const message = `Merge: commits that others pushed to "${title}"`
  try {
    await updateBranch(worktrees, { ...work, onto, title, message, strategy: 'merge' })
    return undefined
  } catch (error) {
    if (!(error instanceof Problem) || error.status >= 500) throw error
    const files = (error.details ?? []).map(({ path }) => path).join(', ')
    const cause = files === '' ? error.message : `it conflicts in ${files}.`
    return {
      reason: `The commits that others have pushed could not be merged into the card's branch: ${cause}`,
      isConflict: error.code === 'MERGE_CONFLICT',
    }
  }
}

/** Accepts a known head. If the board did not push it, a user did, which resumes the agent. */
async function acceptHead({ db }: LoopDependencies, { row: { id } }: PullRequestContext, head: string): Promise<true> {
  await db.transaction(async tx => {
    const present = (await readContext(tx, id))?.row
    if (!present) return
    const isByUser = present.phase === 'watching' || present.phase === 'handedOver'
    await pulls.change(tx, present, { ...(isByUser && resumedPhase(present)), pushedCommit: head })
  })
  return true
}

/** @param conflict identifies the conflict of these two commits: only a change of either requires another check */
async function recordProblem(
  dependencies: LoopDependencies,
  { row: { id } }: PullRequestContext,
  reason: string,
  conflict?: string,
): Promise<false> {
  await dependencies.db.transaction(async tx => {
    const request = await readContext(tx, id)
    if (!request) return
    const row = await handToUsers(tx, dependencies, request, reason)
    if (conflict === undefined) return
    const others = reportedKeys(row).filter(key => !key.startsWith(conflictPrefix))
    await pulls.change(tx, row, { reported: JSON.stringify([...others, conflict]) })
  })
  return false
}
