import type { PullRequest } from '../contract/forges/pullRequestRecords.ts'
import { hasEnded } from '../domain/forges/pullRequestPhases.ts'
import type { SessionRow } from '../store/agents/sessions.ts'
import type { PullRequestRow } from '../store/forges/pullRequests.ts'

/** The time within which checks appear on a new commit, if there were checks before. */
const checksAppearMs = 5 * 60_000

/** The next step after the agent's turn. */
export type TurnEnd = { next: 'push' } | { next: 'retry' } | { next: 'handOver'; reason: string }

/** @param session the card's latest session, which is not open */
export function decideTurnEnd(session: Pick<SessionRow, 'status' | 'statusReason' | 'detail'> | undefined): TurnEnd {
  const { status, statusReason, detail } = session ?? {}
  if (status === 'completed') return { next: 'push' }
  if (status === 'interrupted' && statusReason === 'server_restart') return { next: 'retry' }
  if (status === 'failed')
    return { next: 'handOver', reason: detail ? `Its agent failed: ${detail}` : 'Its agent failed.' }
  return { next: 'handOver', reason: `Its agent was ${status === 'cancelled' ? 'cancelled' : 'interrupted'}.` }
}

/**
 * How the head on the forge relates to the card's branch:
 * - known: the branch contains it
 * - conflicting: the board has already reported that both conflict
 * - unavailable: it could not be fetched
 * - replaced: it lacks commits that the board has pushed
 * - ahead: it has commits that others have pushed on top
 */
export type HeadRelation = 'known' | 'conflicting' | 'unavailable' | 'replaced' | 'ahead'

export function decideHead(relation: HeadRelation, isAgentActive: boolean): 'accept' | 'wait' | 'handOver' | 'merge' {
  switch (relation) {
    case 'known':
      return 'accept'
    case 'conflicting':
    case 'unavailable':
      return 'wait'
    case 'replaced':
      return 'handOver'
    case 'ahead':
      return isAgentActive ? 'wait' : 'merge'
  }
}

type Actable = Pick<
  PullRequestRow,
  'state' | 'phase' | 'autoMerge' | 'draft' | 'mergeable' | 'checks' | 'reviews' | 'hadChecks' | 'updatedAt'
>
/** The other facts that decide about a pull request. */
export interface Facts {
  /** Whether the card's agent is active. */
  isAgentActive: boolean
  /** Whether there is feedback that the agent has not received. Feedback is gathered only if the agent can resume. */
  hasFeedback: boolean
  now: string
}

/** Whether the agent can resume work on a pull request. */
export const canResume = ({ state, phase }: Actable, isAgentActive: boolean): boolean =>
  state === 'open' && phase === 'watching' && !isAgentActive

/** The next action on an open pull request, whose head is part of the card's branch. */
export function decideAction(
  row: Actable,
  { isAgentActive, hasFeedback, now }: Facts,
): 'push' | 'resumeAgent' | 'updateBranch' | 'merge' | 'wait' {
  if (row.phase === 'pushing') return 'push'
  if (canResume(row, isAgentActive) && hasFeedback) return 'resumeAgent'
  const canMerge = row.phase === 'watching' || row.phase === 'handedOver'
  if (row.autoMerge === 0 || row.draft === 1 || isAgentActive || !canMerge) return 'wait'
  if (row.mergeable === 0) return row.phase === 'watching' ? 'updateBranch' : 'wait'
  return isGreen(row, now) ? 'merge' : 'wait'
}

/** Whether no check and no review prevents the merge. If there were checks before a push, waits for them. */
function isGreen(row: Actable, now: string): boolean {
  const checks = JSON.parse(row.checks) as PullRequest['checks']
  const reviews = JSON.parse(row.reviews) as PullRequest['reviews']
  if (checks.some(({ state }) => state === 'failure' || state === 'pending')) return false
  if (reviews.some(({ state }) => state === 'changes_requested')) return false
  return checks.length > 0 || row.hadChecks === 0 || Date.parse(now) - Date.parse(row.updatedAt) > checksAppearMs
}

/**
 * The time until the next read, in milliseconds. Equals the time since the last change, within limits. Running checks and
 * pending work are read soon.
 */
export function decideWaitMs(
  row: Pick<PullRequestRow, 'state' | 'phase' | 'checks' | 'updatedAt'>,
  now: string,
  { minMs, maxMs }: { minMs: number; maxMs: number },
): number {
  if (hasEnded(row)) return 0
  const quietMs = row.phase === 'pushing' ? 0 : Date.parse(now) - Date.parse(row.updatedAt)
  const isPending = (JSON.parse(row.checks) as PullRequest['checks']).some(({ state }) => state === 'pending')
  return Math.min(Math.max(quietMs, minMs), isPending ? 2 * minMs : maxMs)
}

const maxBackoffMs = 15 * 60_000

/** The time until a forge that failed repeatedly is queried again, in milliseconds. */
export const decideBackoffMs = (failures: number, minMs: number): number =>
  Math.min(minMs * 2 ** Math.min(failures, 20), maxBackoffMs)
