import { conflictMessage } from '../agents/sessions/resolveConflicts.ts'
import * as branches from '../cardWork/branches.ts'
import { requireCommitProofs } from '../cardWork/provedTrees.ts'
import { Problem } from '../contract/errors.ts'
import * as pulls from '../domain/forges/pullRequests.ts'
import { workIn } from '../cardWork/repositoryWork.ts'
import { ForgeFailed, type Forge } from '../forge/forge.ts'
import { readCheckoutState } from '../git/checkoutState.ts'
import { fetchBranch } from './branchHead.ts'
import { readContext, reportedKeys, type LoopDependencies, type PullRequestContext } from './loopDependencies.ts'
import { beginRound, findMaker } from './feedbackRounds.ts'
import { handToUsers } from './stopLoop.ts'

/**
 * Merges a pull request whose checks and reviews do not prevent the merge, at the commit that the board saw, if the forge allows it.
 * @returns whether it was merged
 */
export async function mergePullRequestAutomatically(
  dependencies: LoopDependencies,
  forge: Forge,
  context: PullRequestContext,
): Promise<boolean> {
  const { row } = context
  if (row.number === null || row.headCommit === null) return false
  const pull = await forge.readPull(row.number)
  const isReady = pull !== 'unchanged' && pull.state === 'open' && !pull.draft && pull.ready !== false
  if (!isReady || pull.mergeable !== true || pull.headCommit !== row.headCommit) return false
  const maker = await dependencies.db.transaction(tx => findMaker(tx, context))
  if (typeof maker === 'string')
    return endAutoMerge(dependencies, row.id, `The pull request is not merged automatically: ${maker}`)
  if (!(await isProved(dependencies, context, row.headCommit))) return false
  try {
    await forge.mergePull(row.number, { method: row.mergeMethod, headCommit: row.headCommit })
    return true
  } catch (error) {
    if (!(error instanceof ForgeFailed)) throw error
    // The state has changed since, which the next check detects.
    if (error.reason === 'conflict') return false
    if (!['refused', 'invalid', 'missing'].includes(error.reason)) throw error
    return endAutoMerge(dependencies, row.id, `The forge does not merge it: ${error.message}`)
  }
}

/** Whether a card has passed the gates of the merge with the files of a commit. Otherwise, the pull request waits. */
const isProved = (
  dependencies: LoopDependencies,
  { row: { repository }, card, project }: PullRequestContext,
  commit: string,
): Promise<boolean> =>
  requireCommitProofs(dependencies, card, project, { repository, commit, caller: undefined, force: false }).then(
    () => true,
    (error: unknown) => {
      if (error instanceof Problem && error.code === 'GATE_NOT_PASSED') return false
      throw error
    },
  )

/** Updates a branch that conflicts with its base: by the board if possible, otherwise by its agent. */
export async function updateBranchToBase(dependencies: LoopDependencies, request: PullRequestContext): Promise<void> {
  const { row } = request
  const { card, project } = await workIn(dependencies.db, request.card, request.project, row.repository)
  const checkout = await readCheckoutState(project)
  const base = checkout && (await fetchBranch(dependencies, project, checkout, row.base))
  if (!base || 'reason' in base) return
  const key = `conflict:${base.commit}@${row.headCommit}`
  if (reportedKeys(row).includes(key)) return
  const reach = await dependencies.reachOf(project)
  const known = { commit: base.commit, name: row.base }
  const result = await branches.update(
    dependencies.worktrees,
    dependencies.db,
    card,
    project,
    'merge',
    reach,
    row.repository,
    known,
  )
  if ('problem' in result)
    return beginRound(dependencies, row.id, {
      keys: [key],
      commentIds: [],
      message: () => conflictMessage(result, 'merge'),
    })
  await dependencies.db.transaction(async tx => {
    const present = (await readContext(tx, row.id))?.row
    if (present?.phase === 'watching') await pulls.change(tx, present, { phase: 'pushing' })
  })
}

async function endAutoMerge(dependencies: LoopDependencies, id: number, reason: string): Promise<false> {
  await dependencies.db.transaction(async tx => {
    const request = await readContext(tx, id)
    if (!request) return
    const row = await pulls.change(tx, request.row, { autoMerge: false })
    await handToUsers(tx, dependencies, { ...request, row }, reason)
  })
  return false
}
