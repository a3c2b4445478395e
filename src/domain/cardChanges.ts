import { Problem } from '../contract/errors.ts'
import { append } from '../events/outbox.ts'
import { readCard, updateCard, type CardChange, type CardRow } from '../store/cards.ts'
import type { Transaction } from '../store/database.ts'
import { cardDetail } from '../views/cards.ts'

type Changed = Pick<CardRow, 'id' | 'projectId'>
/** Events that contain a card. */
type CardEvent =
  | 'card.created'
  | 'card.updated'
  | 'card.completed'
  | 'card.ready'
  | 'card.archived'
  | 'card.unarchived'
  | 'card.restored'

/** Changes a card and appends its event. Every change of a card goes through this file. @throws Problem CARD_NOT_FOUND */
export async function changeCard(
  tx: Transaction,
  card: Changed,
  change: CardChange,
  event: CardEvent = 'card.updated',
): Promise<CardRow> {
  await updateCard(tx, card.id, change)
  return announceCard(tx, event, card)
}

/** As `changeCard`, for a card that may have been deleted meanwhile: it is changed without an event. */
export async function changeCardIfThere(tx: Transaction, card: Changed, change: CardChange): Promise<void> {
  await updateCard(tx, card.id, change)
  const changed = await readCard(tx, card.projectId, card.id)
  if (changed) await append(tx, 'card.updated', card.projectId, cardDetail(changed))
}

/** Moves a card, which may archive or unarchive it, and appends the event for that. */
export async function changePlace(tx: Transaction, before: CardRow, change: CardChange): Promise<CardRow> {
  await updateCard(tx, before.id, change)
  const moved = await find(tx, before)
  const from = { columnId: String(before.columnId), position: before.position }
  const to = { columnId: String(moved.columnId), position: moved.position }
  await append(tx, 'card.moved', before.projectId, Object.assign(cardDetail(moved), { from, to }))
  if ((before.archivedAt === null) !== (moved.archivedAt === null))
    await append(
      tx,
      moved.archivedAt === null ? 'card.unarchived' : 'card.archived',
      before.projectId,
      cardDetail(moved),
    )
  return moved
}

/** Puts a card into the trash. */
export async function trashCard(tx: Transaction, { id, projectId, columnId }: CardRow): Promise<void> {
  await updateCard(tx, id, { deletedAt: tx.now })
  await append(tx, 'card.deleted', projectId, { id: String(id), columnId: String(columnId) })
}

/** Appends an event with the present progress of the card that this one is a part of. */
export async function announceParent(
  tx: Transaction,
  { projectId, parentId }: Pick<CardRow, 'projectId' | 'parentId'>,
): Promise<void> {
  const parent = parentId === null ? undefined : await readCard(tx, projectId, parentId)
  if (parent) await append(tx, 'card.updated', projectId, cardDetail(parent))
}

/** Appends an event with the card's present state. @throws Problem CARD_NOT_FOUND */
export async function announceCard(tx: Transaction, event: CardEvent, card: Changed): Promise<CardRow> {
  const found = await find(tx, card)
  await append(tx, event, card.projectId, cardDetail(found))
  return found
}

async function find(tx: Transaction, { id, projectId }: Changed): Promise<CardRow> {
  const found = await readCard(tx, projectId, id)
  if (!found) throw new Problem('CARD_NOT_FOUND')
  return found
}
