import { Problem } from '../../contract/errors.ts'
import type { EventData } from '../../contract/server/events.ts'
import { appendEvent } from '../../events/outbox.ts'
import { readCard, updateCard, type CardChange, type CardRow } from '../../store/cards/cards.ts'
import type { Transaction } from '../../store/engine/database.ts'
import { cardDetail, cardMoved } from '../../views/cards.ts'
import { changesBetween, recordActivity } from './activity.ts'

type Changed = Pick<CardRow, 'id' | 'projectId'>
/** Events that contain a card. */
type CardEvent =
  | 'card.created'
  | 'card.updated'
  | 'card.completed'
  | 'card.merged'
  | 'card.ready'
  | 'card.archived'
  | 'card.unarchived'
  | 'card.restored'

/**
 * Changes a card, appends its event, and records its earlier values. Every change of a card goes through this file.
 * @throws Problem CARD_NOT_FOUND
 */
export async function changeCard(
  tx: Transaction,
  card: CardRow,
  change: CardChange,
  event: 'card.updated' | 'card.archived' | 'card.unarchived' | 'card.restored' = 'card.updated',
): Promise<CardRow> {
  await updateCard(tx, card.id, change)
  const changed = await announceCard(tx, event, card)
  const changes = changesBetween(card, changed)
  if (event !== 'card.updated' || changes.length > 0) recordActivity(tx, card.id, event, changes)
  return changed
}

/**
 * Changes a card that was merged and appends the event. The caller records the activity, one entry per repository.
 * @throws Problem CARD_NOT_FOUND
 */
export async function changeMerged(tx: Transaction, card: CardRow, change: CardChange): Promise<CardRow> {
  await updateCard(tx, card.id, change)
  return announceCard(tx, 'card.merged', card)
}

/** Like `changeCard`, for a card that might have been deleted in the meantime. Such a card is changed without an event. */
export async function changeCardIfThere(tx: Transaction, card: Changed, change: CardChange): Promise<void> {
  await updateCard(tx, card.id, change)
  const changed = await readCard(tx, card.projectId, card.id)
  if (changed) await appendEvent(tx, 'card.updated', card.projectId, cardDetail(changed))
}

/** Moves a card, which can archive or unarchive it, and appends the event. */
export async function changePlace(tx: Transaction, before: CardRow, change: CardChange): Promise<CardRow> {
  await updateCard(tx, before.id, change)
  const moved = await find(tx, before)
  const from = { columnId: String(before.columnId), position: before.position }
  const to = { columnId: String(moved.columnId), position: moved.position }
  await appendEvent(tx, 'card.moved', before.projectId, cardMoved(moved, from, to))
  if (moved.columnId !== before.columnId)
    recordActivity(tx, moved.id, 'card.moved', [{ field: 'columnName', from: before.columnName, to: moved.columnName }])
  if ((before.archivedAt === null) !== (moved.archivedAt === null))
    await appendEvent(
      tx,
      moved.archivedAt === null ? 'card.unarchived' : 'card.archived',
      before.projectId,
      cardDetail(moved),
    )
  return moved
}

/** Appends the event of an assignment to accounts that the card was not assigned to before. */
export async function announceAssigned(
  tx: Transaction,
  card: Changed,
  assignedIds: readonly number[],
  by: EventData<'card.assigned'>['by'],
): Promise<CardRow> {
  const assigned = await find(tx, card)
  const data = Object.assign(cardDetail(assigned), { assignedIds: assignedIds.map(String), by })
  await appendEvent(tx, 'card.assigned', card.projectId, data)
  return assigned
}

/** Moves a card to the trash. */
export async function trashCard(tx: Transaction, { id, projectId, columnId }: CardRow): Promise<void> {
  await updateCard(tx, id, { deletedAt: tx.now })
  await appendEvent(tx, 'card.deleted', projectId, { id: String(id), columnId: String(columnId) })
  recordActivity(tx, id, 'card.deleted')
}

/** Appends an event with the current progress of the card's parent. */
export async function announceParent(
  tx: Transaction,
  { projectId, parentId }: Pick<CardRow, 'projectId' | 'parentId'>,
): Promise<void> {
  const parent = parentId === null ? undefined : await readCard(tx, projectId, parentId)
  if (parent) await appendEvent(tx, 'card.updated', projectId, cardDetail(parent))
}

/** Appends the event of a new card. */
export const announceNew = (tx: Transaction, card: CardRow): Promise<void> =>
  appendEvent(tx, 'card.created', card.projectId, cardDetail(card))

/** Appends an event with the card's current state. @throws Problem CARD_NOT_FOUND */
export async function announceCard(tx: Transaction, event: CardEvent, card: Changed): Promise<CardRow> {
  const found = await find(tx, card)
  await announceRow(tx, event, found)
  return found
}

/** Appends an event with a card that was just read. */
export const announceRow = (tx: Transaction, event: CardEvent, card: CardRow): Promise<void> =>
  appendEvent(tx, event, card.projectId, cardDetail(card))

async function find(tx: Transaction, { id, projectId }: Changed): Promise<CardRow> {
  const found = await readCard(tx, projectId, id)
  if (!found) throw new Problem('CARD_NOT_FOUND')
  return found
}
