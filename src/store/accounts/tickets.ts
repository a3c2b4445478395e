import type { Reader, Transaction, Value } from '../engine/database.ts'
import { nowMs } from '../engine/databaseTime.ts'

/** A stored value and its expiry. `key` is a hash. */
export interface Ticket {
  kind: string
  key: string
  value: string
  lifeMs: number
}

/** The current time. If several machines share the database, the database's clock is used, otherwise the clock of this machine. */
const timeOf = ({ host, now }: Transaction): { sql: string; args: Value[] } =>
  host === null ? { sql: 'CAST(? AS INTEGER)', args: [Date.parse(now)] } : { sql: nowMs, args: [] }

/** Stores a ticket. If there are more than `maxKept` tickets of its kind, deletes the oldest ones. */
export async function keepTicket(tx: Transaction, ticket: Ticket, maxKept: number): Promise<void> {
  forgetOld(tx, ticket, maxKept)
  const { sql, args } = insertionOf(tx, 'INSERT', ticket)
  tx.enqueue(sql, args)
}

/** Stores a ticket unless one with this key exists. @returns whether it was stored */
export async function markTicket(tx: Transaction, ticket: Ticket, maxKept: number): Promise<boolean> {
  forgetOld(tx, ticket, maxKept)
  const { sql, args } = insertionOf(tx, 'INSERT OR IGNORE', ticket)
  return (await tx.run(sql, args)).changes === 1
}

function forgetOld(tx: Transaction, { kind }: Ticket, maxKept: number): void {
  const { sql, args } = timeOf(tx)
  tx.enqueue(`DELETE FROM tickets WHERE kind = ? AND ends_at_ms <= ${sql}`, [kind, ...args])
  tx.enqueue(
    'DELETE FROM tickets WHERE id IN (SELECT id FROM tickets WHERE kind = ? ORDER BY ends_at_ms DESC, id DESC LIMIT -1 OFFSET ?)',
    [kind, maxKept - 1],
  )
}

function insertionOf(tx: Transaction, insert: string, { kind, key, value, lifeMs }: Ticket) {
  const { sql, args } = timeOf(tx)
  return {
    sql: `${insert} INTO tickets (kind, key, value, ends_at_ms) VALUES (?, ?, ?, ${sql} + ?)`,
    args: [kind, key, value, ...args, lifeMs],
  }
}

/** Takes the value of a key, which deletes it. */
export async function takeTicket(tx: Transaction, kind: string, key: string): Promise<string | undefined> {
  const { sql, args } = timeOf(tx)
  const [taken] = await tx.all<{ value: string; isValid: number }>(
    `DELETE FROM tickets WHERE kind = ? AND key = ? RETURNING value, ends_at_ms > ${sql} AS isValid`,
    [kind, key, ...args],
  )
  return taken?.isValid === 1 ? taken.value : undefined
}

/** Whether a key is present. */
export const hasTicket = async (db: Reader, kind: string, key: string): Promise<boolean> =>
  (await db.get('SELECT 1 FROM tickets WHERE kind = ? AND key = ?', [kind, key])) !== undefined

export const dropTicket = async (tx: Transaction, kind: string, key: string): Promise<void> => {
  tx.enqueue('DELETE FROM tickets WHERE kind = ? AND key = ?', [kind, key])
}

export const forgetTickets = async (tx: Transaction): Promise<void> => {
  tx.enqueue('DELETE FROM tickets')
}
