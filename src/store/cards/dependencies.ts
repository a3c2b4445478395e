import type { Reader, Transaction } from '../engine/database.ts'

/** Replaces the cards that a card waits for. */
export async function replaceBlockers(tx: Transaction, cardId: number, blockerIds: readonly number[]): Promise<void> {
  const ids = JSON.stringify(blockerIds)
  tx.enqueue('DELETE FROM card_blockers WHERE card_id = ? AND blocker_id NOT IN (SELECT value FROM json_each(?))', [
    cardId,
    ids,
  ])
  await tx.run(
    'INSERT INTO card_blockers (card_id, blocker_id) SELECT ?, value FROM json_each(?) WHERE true ON CONFLICT DO NOTHING',
    [cardId, ids],
  )
}

/** Sets a card's parent, the card on which it was discovered, and the card whose branch it starts at. Version and time are unchanged. */
export const setRelatives = (
  tx: Transaction,
  cardId: number,
  {
    parentId,
    discoveredFromId,
    baseCardId,
  }: { parentId: number | null; discoveredFromId: number | null; baseCardId: number | null },
): void =>
  tx.enqueue('UPDATE cards SET parent_id = ?, discovered_from_id = ?, base_card_id = ? WHERE id = ?', [
    parentId,
    discoveredFromId,
    baseCardId,
    cardId,
  ])

/** The IDs of the cards that wait for any of the blockers, without cards in the trash. */
export const listDependents = async (db: Reader, blockerIds: readonly number[]): Promise<number[]> =>
  (
    await db.all<{ id: number }>(
      `SELECT DISTINCT c.id FROM card_blockers d JOIN cards c ON c.id = d.card_id
       WHERE d.blocker_id IN (SELECT value FROM json_each(?)) AND c.deleted_at IS NULL ORDER BY c.id`,
      [JSON.stringify(blockerIds)],
    )
  ).map(({ id }) => id)

/** The blockers of each of the cards. */
export const listBlockers = (
  db: Reader,
  cardIds: readonly number[],
): Promise<Array<{ cardId: number; blockerId: number }>> =>
  db.all(
    'SELECT card_id AS cardId, blocker_id AS blockerId FROM card_blockers WHERE card_id IN (SELECT value FROM json_each(?)) ORDER BY card_id, blocker_id',
    [JSON.stringify(cardIds)],
  )

/** The blockers of a card that are not done, including cards in the trash. */
export const listOpenBlockers = async (db: Reader, cardId: number): Promise<number[]> =>
  (
    await db.all<{ id: number }>(
      'SELECT b.id FROM card_blockers d JOIN cards b ON b.id = d.blocker_id WHERE d.card_id = ? AND b.done_at IS NULL ORDER BY b.id',
      [cardId],
    )
  ).map(({ id }) => id)

/** The cards of a project with these IDs, without the assistant's card and cards in the trash. */
export const listCardsOfProject = async (
  db: Reader,
  projectId: number,
  ids: readonly number[],
): Promise<Array<{ id: number; parentId: number | null; childrenTotal: number; dependents: number }>> =>
  db.all(
    `SELECT c.id, c.parent_id AS parentId, c.children_total AS childrenTotal, (SELECT count(*) FROM card_blockers WHERE blocker_id = c.id) AS dependents
     FROM json_each(?) j JOIN cards c ON c.id = j.value WHERE c.project_id = ? AND c.deleted_at IS NULL AND c.kind <> 'assistant'`,
    [JSON.stringify(ids), projectId],
  )

/** The ID of a card's parent. */
export const readParent = async (db: Reader, cardId: number): Promise<number | null> =>
  (await db.get<{ parentId: number | null }>('SELECT parent_id AS parentId FROM cards WHERE id = ?', [cardId]))
    ?.parentId ?? null
