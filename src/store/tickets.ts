import type { Transaction } from './database.ts'
import { nowMs } from './databaseTime.ts'

/** Keeps a value for so long. Of more than `most` those that end first are forgotten. */
export async function keepTicket(tx: Transaction, key: string, value: string, lifeMs: number, most: number): Promise<void> {
  tx.send(`DELETE FROM tickets WHERE ends_at_ms <= ${nowMs} OR key IN (SELECT key FROM tickets ORDER BY ends_at_ms DESC LIMIT -1 OFFSET ?)`, [most])
  tx.send(`INSERT INTO tickets (key, value, ends_at_ms) VALUES (?, ?, ${nowMs} + ?)`, [key, value, lifeMs])
}

/** What was kept under the key, which is forgotten with that. */
export const takeTicket = async (tx: Transaction, key: string): Promise<string | undefined> =>
  (await tx.all<{ value: string; isValid: number }>(`DELETE FROM tickets WHERE key = ? RETURNING value, ends_at_ms > ${nowMs} AS isValid`, [key])).find(({ isValid }) => isValid === 1)?.value
