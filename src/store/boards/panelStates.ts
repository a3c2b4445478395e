import type { Reader, Transaction } from '../engine/database.ts'

/** `state` is JSON text. */
export interface PanelStateRow {
  cardId: number
  state: string
}

/** An account's layouts of a project's cards, deleted cards excluded. */
export const listPanelStates = (db: Reader, userId: number, projectId: number): Promise<PanelStateRow[]> =>
  db.all(
    'SELECT s.card_id AS cardId, s.state FROM panel_states s JOIN cards c ON c.id = s.card_id AND c.deleted_at IS NULL WHERE s.user_id = ? AND s.project_id = ? ORDER BY s.card_id',
    [userId, projectId],
  )

/** Returns those of the IDs that belong to the project's cards. */
export const findCardIds = async (db: Reader, projectId: number, ids: readonly number[]): Promise<Set<number>> =>
  new Set(
    (
      await db.all<{ id: number }>(
        'SELECT c.id FROM json_each(?) j JOIN cards c ON c.id = j.value WHERE c.project_id = ? AND c.deleted_at IS NULL',
        [JSON.stringify(ids), projectId],
      )
    ).map(({ id }) => id),
  )

export const writePanelState = async (
  tx: Transaction,
  userId: number,
  projectId: number,
  { cardId, state }: PanelStateRow,
): Promise<void> => {
  tx.enqueue(
    'INSERT INTO panel_states (user_id, project_id, card_id, state) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET state = excluded.state',
    [userId, projectId, cardId, state],
  )
}

/** @returns whether a state was deleted */
export const deletePanelState = async (
  tx: Transaction,
  userId: number,
  projectId: number,
  cardId: number,
): Promise<boolean> =>
  (
    await tx.run('DELETE FROM panel_states WHERE user_id = ? AND project_id = ? AND card_id = ?', [
      userId,
      projectId,
      cardId,
    ])
  ).changes > 0
