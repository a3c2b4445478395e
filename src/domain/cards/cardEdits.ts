import type { CardRow } from '../../store/cards/cards.ts'
import type { Transaction } from '../../store/engine/database.ts'
import { announceReady, resume } from './cardMoves.ts'
import type { CardEdit } from './cardEditFields.ts'
import { find, update, type CardRef } from './cards.ts'
import type { Agents } from '../agents/sessions.ts'

/**
 * Changes a card's fields. In auto mode, a card that is no longer held back starts.
 * @throws Problem as `update`
 */
export async function edit(tx: Transaction, agents: Agents, ref: CardRef, change: CardEdit): Promise<CardRow> {
  const before = await find(tx, ref)
  const card = await update(tx, agents, ref, change)
  if (change.blockedBy || change.startAt !== undefined) agents.reconcile(tx)
  const isFree = (before.blocked === 1 && card.blocked === 0) || (before.startHeld === 1 && card.startHeld === 0)
  if (!isFree) return before.autoMode < card.autoMode ? resume(tx, agents, card, ref.caller) : card
  await announceReady(tx, agents, [card.id], ref.caller)
  return find(tx, ref)
}
