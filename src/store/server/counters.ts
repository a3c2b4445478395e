import type { Reader, Transaction } from '../engine/database.ts'
import { nowMs } from '../engine/databaseTime.ts'

/** A counter's value in its current window, and when the window ends. */
export interface Count {
  taken: number
  leftMs: number
}

const present = `SELECT taken, ends_at_ms - ${nowMs} AS leftMs FROM counters WHERE name = ? AND ends_at_ms > ${nowMs}`

export const readCounter = (db: Reader, name: string): Promise<Count | undefined> => db.get<Count>(present, [name])

/** Adds to a counter. An expired counter restarts at 0 with a window of `lifeMs`. */
export async function addToCounter(tx: Transaction, name: string, amount: number, lifeMs: number): Promise<Count> {
  tx.enqueue(`DELETE FROM counters WHERE ends_at_ms <= ${nowMs}`)
  tx.enqueue(
    `INSERT INTO counters (name, taken, ends_at_ms) VALUES (?1, ?2, ${nowMs} + ?3) ON CONFLICT DO UPDATE SET taken = taken + ?2`,
    [name, amount, lifeMs],
  )
  return (await readCounter(tx, name))!
}
