import type { EventType, Subject } from '../../contract/server/events.ts'
import type { Reader, Transaction } from '../engine/database.ts'
import { isWantedByWebhook } from '../automation/webhooks.ts'

/** A committed event. `data` stays the JSON text that it was stored as. */
export interface StoredEvent {
  seq: number
  projectId: number | null
  type: EventType
  data: string
  at: string
}

const columns = 'seq, project_id AS projectId, type, data, at'

export const insertEvent = async (
  tx: Transaction,
  type: EventType,
  projectId: number | null,
  data: string,
): Promise<void> => {
  tx.enqueue('INSERT INTO events (project_id, type, data, at) VALUES (?, ?, ?, ?)', [projectId, type, data, tx.now])
}

/** Events after `seq`, oldest first. */
export const readEvents = (db: Reader, seq: number, limit: number): Promise<StoredEvent[]> =>
  db.all(`SELECT ${columns} FROM events WHERE seq > ? ORDER BY seq LIMIT ?`, [seq, limit])

/** Events after `seq` that an enabled webhook of their project subscribes to, oldest first. */
export const readEventsForWebhooks = (db: Reader, seq: number, limit: number): Promise<StoredEvent[]> =>
  db.all(`SELECT ${columns} FROM events e WHERE e.seq > ? AND ${isWantedByWebhook} ORDER BY e.seq LIMIT ?`, [
    seq,
    limit,
  ])

/** Events after `seq` of some types, oldest first. */
export const readEventsOfTypes = (
  db: Reader,
  types: readonly EventType[],
  seq: number,
  limit: number,
): Promise<StoredEvent[]> =>
  db.all(
    `SELECT ${columns} FROM events WHERE seq > ? AND type IN (SELECT value FROM json_each(?)) ORDER BY seq LIMIT ?`,
    [seq, JSON.stringify(types), limit],
  )

/** Events of one project after `seq`, oldest first. */
export const readProjectEvents = (db: Reader, projectId: number, seq: number, limit: number): Promise<StoredEvent[]> =>
  db.all(`SELECT ${columns} FROM events WHERE project_id = ? AND seq > ? ORDER BY seq LIMIT ?`, [projectId, seq, limit])

/** The newest event's seq; 0 before the first event. */
export const readLastSeq = async (db: Reader): Promise<number> =>
  (await db.get<{ seq: number | null }>('SELECT max(seq) AS seq FROM events'))?.seq ?? 0

/** The oldest kept event's seq, or the one that the first event will get. */
export const readOldestSeq = async (db: Reader): Promise<number> =>
  (await db.get<{ seq: number | null }>('SELECT min(seq) AS seq FROM events'))?.seq ?? 1

/**
 * Deletes at most `limit` of the oldest events that were written before a time, but none of the newest `keep` and none
 * that a consumer has not read. The remaining seqs have no gap.
 */
export async function deleteOldestEvents(
  tx: Transaction,
  before: string,
  keep: number,
  limit: number,
): Promise<number> {
  const oldest = await readOldestSeq(tx)
  const slowest = await tx.get<{ seq: number | null }>('SELECT min(seq) AS seq FROM event_cursors')
  const maxSeq = Math.min(oldest + limit, (await readLastSeq(tx)) - keep + 1, (slowest?.seq ?? Infinity) + 1)
  if (maxSeq <= oldest) return 0
  const young = await tx.get<{ seq: number }>('SELECT seq FROM events WHERE seq < ? AND at >= ? ORDER BY seq LIMIT 1', [
    maxSeq,
    before,
  ])
  const end = young?.seq ?? maxSeq
  return end <= oldest ? 0 : (await tx.run('DELETE FROM events WHERE seq < ?', [end])).changes
}

/** The seq up to which a consumer has read; undefined for a new one. */
export const readCursor = async (db: Reader, reader: string): Promise<number | undefined> =>
  (await db.get<{ seq: number }>('SELECT seq FROM event_cursors WHERE reader = ?', [reader]))?.seq

export const writeCursor = async (tx: Transaction, reader: string, seq: number): Promise<void> => {
  tx.enqueue('INSERT INTO event_cursors (reader, seq) VALUES (?, ?) ON CONFLICT DO UPDATE SET seq = excluded.seq', [
    reader,
    seq,
  ])
}

/** SQL: the IDs in a JSON list whose records are neither gone nor in the trash. */
const presentOf: Record<Subject, string> = {
  board: 'SELECT id FROM boards WHERE id IN wanted',
  column: 'SELECT id FROM columns WHERE id IN wanted',
  card: 'SELECT id FROM cards WHERE deleted_at IS NULL AND id IN wanted',
  session:
    'SELECT s.id FROM agent_sessions s JOIN cards c ON c.id = s.card_id WHERE c.deleted_at IS NULL AND s.id IN wanted',
  monitor: 'SELECT id FROM monitors WHERE id IN wanted',
  script: 'SELECT id FROM scripts WHERE id IN wanted',
  gate: 'SELECT id FROM gates WHERE id IN wanted',
  proof: 'SELECT id FROM proofs WHERE id IN wanted',
  landing: 'SELECT id FROM landings WHERE id IN wanted',
  schedule: 'SELECT id FROM schedules WHERE id IN wanted',
  attachment: 'SELECT id FROM attachments WHERE id IN wanted',
  comment: 'SELECT id FROM comments WHERE id IN wanted',
  review: 'SELECT id FROM reviews WHERE id IN wanted',
  budget: 'SELECT id FROM budgets WHERE id IN wanted',
}

/** The records that exist and are not in the trash. */
export async function presentRecords(
  db: Reader,
  subjects: ReadonlyMap<Subject, ReadonlySet<string>>,
): Promise<Map<Subject, Set<string>>> {
  const asked = [...subjects]
  const rows = await db.all<{ subject: Subject; id: number }>(
    asked
      .map(
        ([subject]) =>
          `SELECT '${subject}' AS subject, id FROM (${presentOf[subject].replace('wanted', '(SELECT value FROM json_each(?))')})`,
      )
      .join(' UNION ALL '),
    asked.map(([, ids]) => JSON.stringify([...ids].map(Number))),
  )
  const present = new Map<Subject, Set<string>>()
  for (const { subject, id } of rows) present.set(subject, (present.get(subject) ?? new Set()).add(String(id)))
  return present
}
