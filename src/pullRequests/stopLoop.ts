import type { Caller } from '../domain/accounts/caller.ts'
import { makerFor } from '../domain/accounts/makers.ts'
import { requireMayStart } from '../domain/cards/startPermission.ts'
import { changeCardIfThere } from '../domain/cards/cardChanges.ts'
import * as pulls from '../domain/forges/pullRequests.ts'
import { handOver, hasEnded, isHeld, resumedPhase } from '../domain/forges/pullRequestPhases.ts'
import { deliver } from '../notifications/deliver.ts'
import type { Transaction } from '../store/engine/database.ts'
import { readPullRequestById, type PullRequestRow } from '../store/forges/pullRequests.ts'
import { listOpenOfCard } from '../store/forges/pullRequestReads.ts'
import { watchingOf } from '../views/cards.ts'
import { requireOpen } from './changePullRequest.ts'
import type { LoopDependencies, PullRequestContext } from './loopDependencies.ts'

const maxLength = 500

/** Hands a pull request to users with the reason. Its agent no longer resumes automatically. */
export async function handToUsers(
  tx: Transaction,
  { webhooks }: Pick<LoopDependencies, 'webhooks'>,
  { row, card }: Pick<PullRequestContext, 'row' | 'card'>,
  reason: string,
): Promise<PullRequestRow> {
  const stopped = reason.slice(0, maxLength)
  if (hasEnded(row) || row.stopped === stopped) return row
  const after = await pulls.change(tx, row, handOver(stopped))
  await changeCardIfThere(tx, card, { unread: true })
  const notification = {
    kind: 'agentWaiting',
    projectId: card.projectId,
    cardId: card.id,
    cardTitle: card.title,
    message: `The pull request #${row.number} is waiting for you: ${stopped}`,
    at: tx.now,
  } as const
  await deliver(tx, webhooks, notification, watchingOf(card))
  return after
}

/**
 * Resumes agent work on a pull request that was handed to a person, with the permissions of the caller. The agent receives all open
 * feedback again, and gets the full number of rounds.
 * @throws Problem CONFLICT unless it is open, INSUFFICIENT_PERMISSIONS, FORBIDDEN
 */
export async function resumeLoop(tx: Transaction, row: PullRequestRow, caller: Caller): Promise<PullRequestRow> {
  requireMayStart(caller, 'kanban')
  requireOpen(row)
  const maker = await makerFor(tx, caller)
  // A forge with an exhausted rate limit is not queried before its time.
  const soon = isHeld(row, tx.now) ? {} : { nextReadAt: tx.now, failures: 0 }
  return pulls.change(tx, row, { ...maker, ...resumedPhase(row), reported: '[]', ...soon })
}

/** A user's message to a card's agent resumes a pull request that was handed to a person, so that the result is pushed. */
export async function resumeAfterMessage(tx: Transaction, cardId: number): Promise<void> {
  for (const { id } of await listOpenOfCard(tx, cardId)) {
    const row = (await readPullRequestById(tx, id))!
    if (row.phase === 'handedOver') await pulls.change(tx, row, resumedPhase(row, 'working'))
  }
}
