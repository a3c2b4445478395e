import { Problem } from '../../contract/errors.ts'
import { appendEvent } from '../../events/outbox.ts'
import { readCard, type CardRow } from '../../store/cards/cards.ts'
import type { Reader, Transaction } from '../../store/engine/database.ts'
import {
  insertLanding,
  readLanding,
  readOpenLanding,
  updateLanding,
  type LandingChange,
  type LandingRow,
} from '../../store/forges/landings.ts'
import { updateProject } from '../../store/projects/projects.ts'
import { landing as landingView } from '../../views/landings.ts'
import { hasActiveAgent } from '../../views/cards.ts'
import { nameOf, type Caller } from '../accounts/caller.ts'
import { notStarted } from '../agents/sessions.ts'
import { changeCard } from './cardChanges.ts'

/*
 * The landing queue merges cards into a branch, one after the other. It moves the branch only to a merge on which the gates have passed:
 *
 *   waiting ── testing ── landed
 *      │          ├────── rejected ── (its agent has finished) ── waiting
 *      └──────────┴────── cancelled
 */

/** The queue's function that the rules use. */
export interface LandingQueue {
  /** After the commit: reconciles the queue with its entries. */
  reconcile(tx: Transaction): void
}
export interface LandingRef {
  projectId: number
  landingId: number
}

/** Makes a card in auto mode wait for the landing queue, which adds it. */
export const awaitLanding = async (tx: Transaction, card: CardRow): Promise<void> => {
  if (card.statusReason === 'landing') return
  const detail = 'The landing queue merges the work.'
  const lastAgentAction = JSON.stringify({ type: 'landing', at: tx.now, detail })
  await changeCard(tx, card, { statusReason: 'landing', missingGate: null, lastAgentAction })
}

/**
 * Ends a card's wait for the landing queue: people decide.
 * @param gate the name of what the card has not passed. Null if a person removed it from the queue
 */
export async function endAwaitedLanding(
  tx: Transaction,
  { projectId, cardId }: { projectId: number; cardId: number },
  { gate, reason }: { gate: string | null; reason: string },
): Promise<void> {
  const card = await readCard(tx, projectId, cardId)
  if (card?.statusReason !== 'landing') return
  const lastAgentAction = notStarted(tx, { message: reason })
  await changeCard(tx, card, { statusReason: gate === null ? null : 'gate', missingGate: gate, lastAgentAction })
}

/** @throws Problem LANDING_NOT_FOUND */
export async function find(db: Reader, { projectId, landingId }: LandingRef): Promise<LandingRow> {
  const landing = await readLanding(db, landingId)
  if (landing?.projectId !== projectId) throw new Problem('LANDING_NOT_FOUND')
  return landing
}

/**
 * Adds a card at the end of the queue of a branch, for a caller or the board. If its agent fixes an earlier rejection, the card gives up its former place.
 * @throws Problem AGENT_ALREADY_RUNNING, CONFLICT if the card is in the queue or merged, or has a pull request
 */
export async function add(
  tx: Transaction,
  queue: LandingQueue,
  card: CardRow,
  { caller, ...target }: { caller: Caller | undefined; branch: string; squash: boolean },
): Promise<LandingRow> {
  if (hasActiveAgent(card)) throw new Problem('AGENT_ALREADY_RUNNING', 'An agent is working on the card.')
  if (card.mergedAt !== null) throw new Problem('CONFLICT', `The card is merged into ${card.mergedInto}.`)
  if (card.pullRequest !== null)
    throw new Problem('CONFLICT', `The card has a pull request. Merge it: board cards pr merge ${card.id}`)
  const open = await readOpenLanding(tx, card.id)
  if (open && open.status !== 'rejected') throw new Problem('CONFLICT', 'The card is already in the landing queue.')
  if (open) updateLanding(tx, open.id, { withAgent: false })
  const id = await insertLanding(tx, {
    ...target,
    projectId: card.projectId,
    cardId: card.id,
    requestedBy: caller ? nameOf(caller) : 'the board',
  })
  queue.reconcile(tx)
  return announce(tx, id)
}

/**
 * Removes a card from the queue. A test of its merge stops.
 * @throws Problem LANDING_NOT_FOUND, CONFLICT if the card is no longer in the queue
 */
export async function cancel(tx: Transaction, queue: LandingQueue, ref: LandingRef): Promise<void> {
  const landing = await find(tx, ref)
  if (!isOpen(landing) && landing.withAgent === 0)
    throw new Problem('CONFLICT', 'The card is no longer in the landing queue.')
  await change(tx, landing.id, { status: 'cancelled', withAgent: false, reason: null, finishedAt: tx.now })
  await endAwaitedLanding(tx, landing, { gate: null, reason: 'The card was removed from the landing queue.' })
  queue.reconcile(tx)
}

/** Pauses or resumes a project's queue. An entry that is being tested is finished. */
export async function setPaused(
  tx: Transaction,
  queue: LandingQueue,
  projectId: number,
  isPaused: boolean,
): Promise<void> {
  await updateProject(tx, projectId, { landingPaused: isPaused })
  await appendEvent(tx, 'landing.paused', projectId, { isPaused })
  queue.reconcile(tx)
}

/** Changes an entry of the queue. */
export async function change(tx: Transaction, id: number, fields: LandingChange): Promise<LandingRow> {
  updateLanding(tx, id, fields)
  return announce(tx, id)
}

export const isOpen = ({ status }: Pick<LandingRow, 'status'>): boolean => status === 'waiting' || status === 'testing'

async function announce(tx: Transaction, id: number): Promise<LandingRow> {
  const landing = (await readLanding(tx, id))!
  await appendEvent(tx, 'landing.updated', landing.projectId, landingView(landing))
  return landing
}
