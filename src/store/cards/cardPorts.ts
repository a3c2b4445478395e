import type { Reader, Transaction } from '../engine/database.ts'

export const readFirstPort = async (db: Reader, cardId: number): Promise<number | undefined> =>
  (await db.get<{ firstPort: number }>('SELECT first_port AS firstPort FROM card_ports WHERE card_id = ?', [cardId]))
    ?.firstPort

/** The first ports of other cards that are neither archived nor in the trash. */
export const listPortsInUse = async (db: Reader, cardId: number): Promise<number[]> =>
  (
    await db.all<{ firstPort: number }>(
      `SELECT p.first_port AS firstPort FROM card_ports p JOIN cards c ON c.id = p.card_id
       WHERE p.card_id <> ? AND c.archived_at IS NULL AND c.deleted_at IS NULL ORDER BY p.first_port`,
      [cardId],
    )
  ).map(({ firstPort }) => firstPort)

export const setFirstPort = async (tx: Transaction, cardId: number, firstPort: number): Promise<void> => {
  await tx.run(
    'INSERT INTO card_ports (card_id, first_port) VALUES (?, ?) ON CONFLICT DO UPDATE SET first_port = excluded.first_port',
    [cardId, firstPort],
  )
}
