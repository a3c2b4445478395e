import { conflictMessage } from '../agents/sessions/resolveConflicts.ts'
import type { PullRequest } from '../contract/forges/pullRequestRecords.ts'
import * as branches from '../domain/worktrees/branches.ts'
import * as pulls from '../domain/forges/pullRequests.ts'
import { workIn } from '../domain/worktrees/repositoryWork.ts'
import { ForgeFailed, type Forge } from '../forge/forge.ts'
import { readCheckoutState } from '../git/checkoutState.ts'
import { hasActiveAgent } from '../views/cards.ts'
import { fetchBranch } from './branchHead.ts'
import { readRequest, reportedKeys, type LoopDependencies, type RequestOf } from './loopDependencies.ts'
import { beginRound, findMaker } from './feedbackRounds.ts'
import { stop } from './stopLoop.ts'

/** How long checks can take to appear on a new commit, if there were some before. */
const checksAppearMs = 5 * 60_000
const hasChecks = 'checks'

/**
 * Merges a pull request with automatic merge as soon as the forge allows it, at the commit that the board saw. A pull request
 * that conflicts with its base is updated: by the board if possible, otherwise by its agent.
 * @returns whether it was merged
 */
export async function mergeWhenReady(parts: LoopDependencies, forge: Forge, request: RequestOf): Promise<boolean> {
  const { row, card } = request
  if (row.autoMerge === 0 || row.draft === 1 || row.step !== 'idle' || hasActiveAgent(card)) return false
  if (row.mergeable === 0) {
    await bringUpToBase(parts, request)
    return false
  }
  if (row.number === null || row.headCommit === null || !(await isGreen(parts, request))) return false
  const pull = await forge.readPull(row.number)
  const isReady = pull !== 'unchanged' && pull.state === 'open' && !pull.draft && pull.ready !== false
  if (!isReady || pull.mergeable !== true || pull.headCommit !== row.headCommit) return false
  const refused = await parts.db.transaction(async tx => {
    const maker = await findMaker(tx, request)
    return typeof maker === 'string' ? maker : undefined
  })
  if (refused !== undefined) return leave(parts, row.id, `The pull request is not merged automatically: ${refused}`)
  try {
    await forge.mergePull(row.number, { method: row.mergeMethod, headCommit: row.headCommit })
    return true
  } catch (error) {
    if (!(error instanceof ForgeFailed) || !['refused', 'invalid', 'missing'].includes(error.reason)) {
      // The state has changed since, which the next check detects.
      if (error instanceof ForgeFailed && error.reason === 'conflict') return false
      throw error
    }
    return leave(parts, row.id, `The forge does not merge it: ${error.message}`)
  }
}

/** Whether no check and no review prevents the merge. If there were checks before a push, waits for them. */
async function isGreen({ db, clock }: LoopDependencies, { row }: RequestOf): Promise<boolean> {
  const checks = JSON.parse(row.checks) as PullRequest['checks']
  const reviews = JSON.parse(row.reviews) as PullRequest['reviews']
  const told = reportedKeys(row)
  if (checks.length > 0 && !told.includes(hasChecks))
    await db.transaction(async tx => {
      const present = (await readRequest(tx, row.id))?.row
      if (present) await pulls.change(tx, present, { told: JSON.stringify([...reportedKeys(present), hasChecks]) })
    })
  if (checks.some(({ state }) => state === 'failure' || state === 'pending')) return false
  if (reviews.some(({ state }) => state === 'changes_requested')) return false
  return (
    checks.length > 0 || !told.includes(hasChecks) || clock().getTime() - Date.parse(row.updatedAt) > checksAppearMs
  )
}

async function bringUpToBase(parts: LoopDependencies, request: RequestOf): Promise<void> {
  const { row } = request
  const { card, project } = await workIn(parts.db, request.card, request.project, row.repository)
  if (row.stopped !== null) return
  const checkout = await readCheckoutState(project)
  const base = checkout && (await fetchBranch(parts, project, checkout, row.base))
  if (!base || 'reason' in base) return
  const key = `conflict:${base.commit}@${row.headCommit}`
  if (reportedKeys(row).includes(key)) return
  const reach = await parts.reachOf(project)
  const known = { commit: base.commit, name: row.base }
  const result = await branches.update(parts.worktrees, parts.db, card, project, 'merge', reach, row.repository, known)
  if ('problem' in result)
    return beginRound(parts, row.id, {
      keys: [key],
      commentIds: [],
      message: () => conflictMessage(result, 'merge'),
    })
  await parts.db.transaction(async tx => {
    const present = (await readRequest(tx, row.id))?.row
    if (present?.step === 'idle') await pulls.change(tx, present, { step: 'pushing' })
  })
}

async function leave(parts: LoopDependencies, id: number, reason: string): Promise<false> {
  await parts.db.transaction(async tx => {
    const request = await readRequest(tx, id)
    if (!request) return
    const row = await pulls.change(tx, request.row, { autoMerge: false })
    await stop(tx, parts, { ...request, row }, reason)
  })
  return false
}
