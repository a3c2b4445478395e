import type { Reader, Transaction } from '../engine/database.ts'
import { nowMs } from '../engine/databaseTime.ts'

const keptMs = 3_600_000

/** Inserts a revocation, as JSON, for the other daemons. They poll far more often than revocations are pruned. */
export async function insertRevocation(tx: Transaction, ended: string): Promise<void> {
  tx.enqueue(`DELETE FROM revocations WHERE at_ms < ${nowMs} - ?`, [keptMs])
  tx.enqueue(`INSERT INTO revocations (ended, at_ms) VALUES (?, ${nowMs})`, [ended])
}

export const lastRevocation = async (db: Reader): Promise<number> =>
  (await db.get<{ id: number | null }>('SELECT max(id) AS id FROM revocations'))?.id ?? 0

export const listRevocations = (db: Reader, afterId: number): Promise<Array<{ id: number; ended: string }>> =>
  db.all('SELECT id, ended FROM revocations WHERE id > ? ORDER BY id', [afterId])
