import { Problem } from '../contract/errors.ts'
import { hasEnded, isHeld } from '../domain/forges/pullRequestPhases.ts'
import { ForgeFailed } from '../forge/forge.ts'
import { holdReads, scheduleRead } from '../store/forges/pullRequestReads.ts'
import { hasActiveAgent } from '../views/cards.ts'
import { mergePullRequestAutomatically, updateBranchToBase } from './autoMerge.ts'
import { followHead } from './branchHead.ts'
import { canResume, decideAction, decideBackoffMs, decideWaitMs } from './decidePullRequest.ts'
import { feedbackMessage, gatherFeedback } from './feedback.ts'
import { beginRound, endTurn } from './feedbackRounds.ts'
import { finishPullRequest, recordWorkInBase, retryMs } from './finishPullRequest.ts'
import { readContext, type LoopDependencies } from './loopDependencies.ts'
import { bringToForge } from './pushPullRequest.ts'
import { refreshPullRequest, type Refreshed } from './refreshPullRequest.ts'
import { handToUsers } from './stopLoop.ts'

/** After this number of consecutive failed pushes, a user must decide. */
const maxFailures = 5

/** Reads a pull request from its forge once, acts on the changes, and schedules the next check. */
export async function reconcilePullRequest(dependencies: LoopDependencies, id: number): Promise<void> {
  const row = await endTurn(dependencies, id)
  if (!row || isHeld(row, dependencies.clock().toISOString())) return
  const refreshed = await refreshPullRequest(dependencies, id)
  if (!refreshed) return
  if (refreshed.failure) return postpone(dependencies, id, { seen: row.nextReadAt, failure: refreshed.failure })
  if (hasEnded(refreshed.row)) return finishOrRetry(dependencies, id)
  try {
    await act(dependencies, refreshed)
  } catch (error) {
    if (!(error instanceof ForgeFailed || error instanceof Problem)) throw error
    return handleFailure(dependencies, id, { seen: row.nextReadAt, failure: error })
  }
  await scheduleNext(dependencies, id, row.nextReadAt)
}

async function act(dependencies: LoopDependencies, { row: { id }, checks, reviews }: Refreshed): Promise<void> {
  const context = await readContext(dependencies.db, id)
  if (context?.row.state !== 'open' || context.row.phase === 'working') return
  if (!(await followHead(dependencies, context))) return
  const present = await readContext(dependencies.db, id)
  if (!present) return
  const { row, card, project } = present
  const { forge } = await dependencies.openForge(project, row.repository)
  const isAgentActive = hasActiveAgent(card)
  const feedback =
    canResume(row, isAgentActive) && checks && reviews
      ? await gatherFeedback(forge, row, { checks, reviews })
      : undefined
  const now = dependencies.clock().toISOString()
  switch (decideAction(row, { isAgentActive, hasFeedback: feedback !== undefined, now })) {
    case 'push':
      return bringToForge(dependencies, forge, present)
    case 'resumeAgent':
      return beginRound(dependencies, id, {
        ...feedback!,
        message: round => feedbackMessage(row, feedback!, round),
      })
    case 'updateBranch':
      return updateBranchToBase(dependencies, present)
    case 'merge':
      if (await mergePullRequestAutomatically(dependencies, forge, present))
        await refreshPullRequest(dependencies, id, { anew: true })
      return
    case 'wait':
  }
}

/** The pull request has ended. It is checked again until all work that follows is done. */
async function finishOrRetry(dependencies: LoopDependencies, id: number): Promise<void> {
  await recordWorkInBase(dependencies, id)
  const isDone = await finishPullRequest(dependencies, id)
  await dependencies.db.transaction(async tx => {
    const nextReadAt = isDone ? null : after(tx.now, Math.min(retryMs, dependencies.polling.maxMs))
    scheduleRead(tx, id, { nextReadAt, failures: 0 })
  })
}

/** @param seen the scheduled time of the read at the start of this check; a delivery since then requires another check */
async function scheduleNext({ db, polling }: LoopDependencies, id: number, seen: string | null): Promise<void> {
  await db.transaction(async tx => {
    const row = (await readContext(tx, id))?.row
    if (row?.nextReadAt === seen)
      scheduleRead(tx, id, { nextReadAt: after(tx.now, decideWaitMs(row, tx.now, polling)), failures: 0 })
  })
}

/** Why a check failed, and the scheduled time at its start. If a user has fixed the cause since, another check is required. */
interface Failed {
  seen: string | null
  failure: ForgeFailed | Problem
}

/**
 * A forge that does not respond is queried at increasing intervals. After an exhausted rate limit, the whole project waits until
 * the time that the forge states.
 */
async function postpone(
  { db, polling: { minMs } }: LoopDependencies,
  id: number,
  { seen, failure }: Failed,
): Promise<void> {
  await db.transaction(async tx => {
    const context = await readContext(tx, id)
    if (!context) return
    const { row, project } = context
    const { retryAt = 0 } = failure as Partial<ForgeFailed>
    const isLimited = retryAt > Date.parse(tx.now)
    const failures = row.failures + (isLimited ? 0 : 1)
    if (row.nextReadAt === seen)
      scheduleRead(tx, id, { nextReadAt: after(tx.now, decideBackoffMs(failures, minMs)), failures })
    if (isLimited) holdReads(tx, project.id, new Date(retryAt).toISOString())
  })
}

/** A failure on the board's side is retried, and finally left to users. */
async function handleFailure(dependencies: LoopDependencies, id: number, failed: Failed): Promise<void> {
  const { failure } = failed
  await dependencies.db.transaction(async tx => {
    const context = await readContext(tx, id)
    if (context && failure instanceof Problem && context.row.failures + 1 >= maxFailures)
      await handToUsers(tx, dependencies, context, failure.message)
  })
  await postpone(dependencies, id, failed)
}

const after = (now: string, ms: number): string => new Date(Date.parse(now) + ms).toISOString()
