import { advancesByItself } from '../../agents/sessions/advancePipeline.ts'
import { landCard, planLanding } from '../../cardWork/landCard.ts'
import { Problem } from '../../contract/errors.ts'
import type { CardRef } from '../../domain/cards/cards.ts'
import { change, endAwaitedLanding, type LandingQueue } from '../../domain/cards/landings.ts'
import { readCard } from '../../store/cards/cards.ts'
import type { Database } from '../../store/engine/database.ts'
import type { QueuedLanding } from '../../store/forges/landings.ts'
import { readProject } from '../../store/projects/projects.ts'
import { hasActiveAgent } from '../../views/cards.ts'
import type { Worktrees } from '../../worktrees/worktrees.ts'

/**
 * Adds a card that waits for the landing queue at its end, for the current branch of the project's folder. If it cannot be merged, the card
 * waits for people.
 */
export async function admitCard(
  { db, worktrees }: { db: Database; worktrees: Worktrees },
  queue: LandingQueue,
  ref: CardRef,
): Promise<void> {
  try {
    const plan = await planLanding(worktrees, db, ref, undefined)
    await db.transaction(tx => landCard(tx, queue, ref, { ...plan, squash: false }))
  } catch (error) {
    if (!(error instanceof Problem) || error.status >= 500) throw error
    const [missing] = error.code === 'GATE_NOT_PASSED' ? (error.details ?? []) : []
    const outcome = { gate: missing?.path ?? 'merge', reason: error.message }
    await db.transaction(tx => endAwaitedLanding(tx, ref, outcome))
  }
}

/**
 * Returns a card to its place in the queue when its agent has fixed the reason of its rejection. A card in auto mode first passes the gates of
 * its step again, or leaves the queue.
 * @returns whether the entry has changed
 */
export async function readmitCard(
  { db }: { db: Database },
  { id, projectId, cardId }: Pick<QueuedLanding, 'id' | 'projectId' | 'cardId'>,
): Promise<boolean> {
  return db.transaction(async tx => {
    const [card, project] = [await readCard(tx, projectId, cardId), await readProject(tx, projectId)]
    if (card && hasActiveAgent(card)) return false
    const isAutomatic = card !== undefined && advancesByItself(card) && project?.land === 'when_proved'
    if (isAutomatic && card.status === 'completed' && card.statusReason === null) return false
    const isReady = card?.status === 'completed' && card.statusReason !== 'gate'
    await change(
      tx,
      id,
      isReady ? { status: 'waiting', withAgent: false, reason: null, finishedAt: null } : { withAgent: false },
    )
    return true
  })
}
