import { Problem } from '../contract/errors.ts'
import type { PullRequest } from '../contract/forges/pullRequestRecords.ts'
import * as pulls from '../domain/forges/pullRequests.ts'
import { ForgeFailed } from '../forge/forge.ts'
import type { PullRequestRow } from '../store/forges/pullRequests.ts'
import { holdRequests, scheduleRequest } from '../store/forges/requestLoop.ts'
import { mergeWhenReady } from './autoMerge.ts'
import { followHead } from './branchHead.ts'
import { feedbackMessage, gatherFeedback } from './feedback.ts'
import { readRequest, type LoopDependencies, type RequestOf } from './loopDependencies.ts'
import { bringToForge } from './pushPullRequest.ts'
import { refreshPullRequest, type Refreshed } from './refreshPullRequest.ts'
import { beginRound, endTurn, isReady } from './feedbackRounds.ts'
import { retryMs, noteWhereItIs, finishPullRequest } from './finishPullRequest.ts'
import { stop } from './stopLoop.ts'

const maxBackoffMs = 15 * 60_000
/** After this number of consecutive failed pushes, a user must decide. */
const maxFailures = 5

/** Reads a pull request from its forge once, acts on the changes, and schedules the next check. */
export async function reconcilePullRequest(parts: LoopDependencies, id: number): Promise<void> {
  const row = await endTurn(parts, id)
  if (!row || isHeld(parts, row)) return
  const refreshed = await refreshPullRequest(parts, id)
  if (!refreshed) return
  if (refreshed.failure) return postpone(parts, id, { seen: row.nextReadAt, failure: refreshed.failure })
  if (refreshed.row.state === 'merged' || refreshed.row.state === 'closed') return settleLater(parts, id)
  try {
    await advance(parts, refreshed)
  } catch (error) {
    if (!(error instanceof ForgeFailed || error instanceof Problem)) throw error
    return fail(parts, id, { seen: row.nextReadAt, failure: error })
  }
  await scheduleNext(parts, id, row.nextReadAt)
}

/** Whether the forge's rate limit was exhausted since this pull request was due. */
const isHeld = ({ clock }: LoopDependencies, { failures, nextReadAt }: PullRequestRow): boolean =>
  failures < 0 && nextReadAt !== null && nextReadAt > clock().toISOString()

async function advance(parts: LoopDependencies, refreshed: Refreshed): Promise<void> {
  const { id } = refreshed.row
  if (refreshed.row.settled > 0) await reopen(parts, id)
  const request = await readRequest(parts.db, id)
  if (!request || request.row.state !== 'open') return
  if (request.row.step === 'asked' || !(await followHead(parts, request))) return
  const present = await readRequest(parts.db, id)
  if (!present) return
  const { forge } = await parts.openForge(present.project, present.row.repository)
  if (present.row.step === 'pushing') return bringToForge(parts, forge, present)
  if (isReady(present) && (await sendBack(parts, present, refreshed))) return
  if (await mergeWhenReady(parts, forge, present)) await refreshPullRequest(parts, id, { anew: true })
}

/** Resumes the agent if there is new feedback. @returns whether there was */
async function sendBack(
  parts: LoopDependencies,
  { row, project }: RequestOf,
  { checks, reviews }: Refreshed,
): Promise<boolean> {
  if (row.number === null || row.headCommit === null || !checks || !reviews) return false
  const { number, headCommit } = row
  const { forge } = await parts.openForge(project, row.repository)
  const feedback = await gatherFeedback(forge, { ...row, number, headCommit }, { checks, reviews })
  if (!feedback) return false
  await beginRound(parts, row.id, {
    keys: feedback.keys,
    commentIds: feedback.commentIds,
    message: round => feedbackMessage({ ...row, number }, feedback, round),
  })
  return true
}

const reopen = ({ db }: LoopDependencies, id: number) =>
  db.transaction(async tx => {
    const request = await readRequest(tx, id)
    if (request?.row.state === 'open') await pulls.change(tx, request.row, { settled: 0 })
  })

/** The pull request has ended. It is checked again until all follow-up steps are done. */
async function settleLater(parts: LoopDependencies, id: number): Promise<void> {
  await noteWhereItIs(parts, id)
  const isDone = await finishPullRequest(parts, id)
  await parts.db.transaction(async tx => {
    const nextReadAt = isDone ? null : after(tx.now, Math.min(retryMs, parts.polling.maxMs))
    scheduleRequest(tx, id, { nextReadAt, failures: 0 })
  })
}

/** @param seen the scheduled time of the read at the start of this check; a delivery since then requires another check */
async function scheduleNext({ db, polling }: LoopDependencies, id: number, seen: string | null): Promise<void> {
  await db.transaction(async tx => {
    const row = (await readRequest(tx, id))?.row
    if (row?.nextReadAt === seen)
      scheduleRequest(tx, id, { nextReadAt: after(tx.now, waitFor(row, tx.now, polling)), failures: 0 })
  })
}

/** The interval is the time since its last change, within limits. A running check and waiting work are checked soon. */
function waitFor(row: PullRequestRow, now: string, { minMs, maxMs }: LoopDependencies['polling']): number {
  const isOver = row.state === 'merged' || row.state === 'closed'
  const quietMs = isOver || row.step === 'pushing' ? 0 : Date.parse(now) - Date.parse(row.updatedAt)
  const isPending = (JSON.parse(row.checks) as PullRequest['checks']).some(({ state }) => state === 'pending')
  return Math.min(Math.max(quietMs, isOver ? 0 : minMs), isPending ? 2 * minMs : maxMs)
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
    const request = await readRequest(tx, id)
    if (!request) return
    const failures = Math.max(request.row.failures, 0) + 1
    const waitMs = Math.min(minMs * 2 ** Math.min(failures, 20), maxBackoffMs)
    if (request.row.nextReadAt === seen) scheduleRequest(tx, id, { nextReadAt: after(tx.now, waitMs), failures })
    const { retryAt } = failure as Partial<ForgeFailed>
    if (retryAt !== undefined && retryAt > Date.parse(tx.now))
      holdRequests(tx, request.project.id, new Date(retryAt).toISOString())
  })
}

/** A failure on the board's side is retried, and finally left to users. */
async function fail(parts: LoopDependencies, id: number, failed: Failed): Promise<void> {
  const { failure } = failed
  await parts.db.transaction(async tx => {
    const request = await readRequest(tx, id)
    if (request && failure instanceof Problem && request.row.failures + 1 >= maxFailures)
      await stop(tx, parts, request, failure.message)
  })
  await postpone(parts, id, failed)
}

const after = (now: string, ms: number): string => new Date(Date.parse(now) + ms).toISOString()
