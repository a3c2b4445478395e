import { refuse } from '../../contract/errors.ts'
import type { CardRow } from '../../store/cards/cards.ts'
import { readFirstColumn, type ColumnRow } from '../../store/boards/columns.ts'
import type { Transaction } from '../../store/engine/database.ts'
import { notStarted, endCard, type Agents, type Ending } from '../agents/sessions.ts'
import { describeCapacityWait, hasRoom, isOrdered } from '../boards/columnLimits.ts'
import { recordActivity } from './activity.ts'
import { announceCard, changeCard } from './cardChanges.ts'
import { move, requireWay } from './cardMoves.ts'
import { find, type CardRef } from './cards.ts'
import { isHeldBack } from './startOrHold.ts'

/**
 * Moves a card to its board's first done column, also from the archive, and ends its session.
 * @throws Problem CARD_NOT_FOUND, GATE_NOT_PASSED and COLUMN_FULL without `force`, COLUMN_NOT_FOUND if the board has none,
 * INSUFFICIENT_PERMISSIONS as for a move
 */
export async function complete(tx: Transaction, agents: Agents, ref: CardRef, force = false): Promise<CardRow> {
  const card = await find(tx, ref)
  const done =
    (await readFirstColumn(tx, card.boardId, 'done')) ?? refuse('COLUMN_NOT_FOUND', 'The board has no done column.')
  await requireWay(tx, card, done, ref, force)
  await endCard(tx, agents, card.id, completedByHand)
  if (card.columnId !== done.id || card.archivedAt !== null) await move(tx, agents, ref, { columnId: done.id, force })
  recordActivity(tx, card.id, 'card.completed')
  return announceCard(tx, 'card.completed', card)
}

/**
 * Moves a card whose pull request has ended to a column, or makes it wait if the column is full. Its agent ends, and none starts.
 * @returns whether the card is in the column
 */
export async function moveAfterRequest(
  tx: Transaction,
  agents: Agents,
  card: CardRow,
  column: ColumnRow | undefined,
  ending: Ending,
): Promise<boolean> {
  await endCard(tx, agents, card.id, ending)
  if (column === undefined || column.id === card.columnId) return true
  if (isOrdered(card) && !(await hasRoom(tx, column))) {
    const { message } = describeCapacityWait(column)
    if (!card.lastAgentAction?.includes(JSON.stringify(message)))
      await changeCard(tx, card, { lastAgentAction: notStarted(tx, { message }) })
    return false
  }
  const ref = { projectId: card.projectId, cardId: card.id }
  // The forge has merged or closed the request, so the card follows without proofs.
  const moved = await move(tx, agents, ref, { columnId: column.id, force: true }, true, ending)
  if (isHeldBack(moved)) await changeCard(tx, moved, { lastAgentAction: null })
  if (column.columnType !== 'done') return true
  recordActivity(tx, card.id, 'card.completed')
  await announceCard(tx, 'card.completed', card)
  return true
}

const completedByHand: Ending = { status: 'completed', detail: 'Completed manually.' }
