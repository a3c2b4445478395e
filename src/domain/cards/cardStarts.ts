import { bySystem, insertAuditRow } from '../../store/server/audit.ts'
import { readCard, type CardRow } from '../../store/cards/cards.ts'
import type { Transaction } from '../../store/engine/database.ts'
import { hasActiveAgent } from '../../views/cards.ts'
import type { Caller } from '../accounts/caller.ts'
import { changeCard, changeCardIfThere } from './cardChanges.ts'
import { announceReady } from './cardMoves.ts'
import { notStarted, type Agents } from '../agents/sessions.ts'
import { findHold, heldFields, startOrHold } from './startOrHold.ts'

/**
 * Starts a card whose start time has come if it is idle in an active column, with the current permissions of the person who set the time.
 * If the person lacks the permission, records the reason. In another column, the card becomes ready, and auto mode or a column that pulls
 * starts it.
 */
export async function startInTime(
  tx: Transaction,
  agents: Agents,
  { projectId, id }: Pick<CardRow, 'projectId' | 'id'>,
  starter: Caller | string,
): Promise<void> {
  await changeCardIfThere(tx, { projectId, id }, { startHeld: false })
  const card = await readCard(tx, projectId, id)
  if (!card) return
  const canStart = card.columnType === 'active' && card.archivedAt === null && card.status === 'idle'
  if (!canStart) return void (await announceReady(tx, agents, [id], 'board'))
  if (typeof starter === 'string') {
    const lastAgentAction = notStarted(tx, { message: starter })
    return void (await changeCard(tx, card, { lastAgentAction }))
  }
  const hold = await findHold(tx, agents, card, starter)
  const held = hold ? await changeCard(tx, card, heldFields(tx, hold)) : card
  const begun = await startOrHold(tx, agents, held, starter, hold)
  if (hasActiveAgent(begun))
    insertAuditRow(tx, bySystem('agents.continue', { kind: 'card', id }, 'its start time has come'))
}
