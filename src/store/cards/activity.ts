import type { ActivityAction, FieldChange } from '../../contract/cards/activity.ts'
import type { Actor, Reader, Transaction } from '../engine/database.ts'
import { defineRecord, id, json, text, type Row } from '../engine/record.ts'

export const activityFields = {
  id: id(),
  cardId: id(),
  at: text(),
  actorKind: text<Actor['kind']>(),
  actorId: id().orNull(),
  actorName: text(),
  action: text<ActivityAction>(),
  changes: json<FieldChange[]>(),
}
export type ActivityRow = Row<typeof activityFields>
const record = defineRecord('card_activity', 'h', activityFields)

const insert =
  'INSERT INTO card_activity (card_id, at, actor_kind, actor_id, actor_name, action, changes) VALUES (?, ?, ?, ?, ?, ?, ?)'

/** Queues an entry about a card. */
export const insertActivity = (
  tx: Transaction,
  entry: Omit<ActivityRow, 'id' | 'actorKind' | 'actorId' | 'actorName'> & { actor: Actor },
): void => {
  const { cardId, at, actor, action, changes } = entry
  tx.enqueue(insert, [cardId, at, actor.kind, actor.id, actor.name, action, changes])
}

/** A card's entries with IDs below `before`, newest first. */
export const listActivity = (
  db: Reader,
  cardId: number,
  { before = Number.MAX_SAFE_INTEGER, limit }: { before?: number; limit: number },
): Promise<ActivityRow[]> =>
  db.all(`SELECT ${record.columns} FROM card_activity h WHERE h.card_id = ? AND h.id < ? ORDER BY h.id DESC LIMIT ?`, [
    cardId,
    before,
    limit,
  ])
