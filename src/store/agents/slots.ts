import type { Reader, Transaction } from '../engine/database.ts'
import { nowMs } from '../engine/databaseTime.ts'
import { takesSlotSql } from './sessionPurposes.ts'
import type { SessionRow } from './sessions.ts'

/** A session of a card's agent that has a slot, or waits for an occupied one. */
export type SlotSession = Pick<
  SessionRow,
  'id' | 'projectId' | 'agent' | 'credentialId' | 'slotTakenAt' | 'slotAwaitedAt' | 'slotWait' | 'statusReason'
> & {
  /** The limits of the session's project and of its credential. */
  projectSlots: number | null
  credentialSlots: number | null
  /** Whether this machine runs the session. */
  isOwn: 0 | 1
  hasSlot: 0 | 1
}

/** The time after a machine's last heartbeat during which its agents count. After that, the agents have ended. */
const silentMs = 30_000

/** Work that waits for a budget, or for an answer after its turn, has no slot, because none of its processes run. */
const hasSlot = `(s.slot_taken_at IS NOT NULL OR s.status = 'running' OR (s.status = 'waiting' AND s.status_reason IS NOT 'budget' AND s.status_reason IS NOT 'question'))`

/**
 * The sessions of cards' agents that have not ended, on every available machine: those with a slot, those that wait for an
 * occupied one, in waiting order, and those with these IDs.
 */
export const listSlotSessions = (db: Reader, ids: readonly number[]): Promise<SlotSession[]> =>
  db.all(
    `SELECT s.id, s.project_id AS projectId, s.agent, s.credential_id AS credentialId, s.slot_taken_at AS slotTakenAt, s.slot_awaited_at AS slotAwaitedAt, s.slot_wait AS slotWait, s.status_reason AS statusReason,
      p.agent_slots AS projectSlots, k.agent_slots AS credentialSlots, p.host IS ?1 AS isOwn,
      ${hasSlot} AS hasSlot
     FROM agent_sessions s JOIN projects p ON p.id = s.project_id LEFT JOIN credentials k ON k.id = s.credential_id
     WHERE s.ended_at IS NULL AND ${takesSlotSql}
     AND (${hasSlot} OR s.slot_awaited_at IS NOT NULL OR s.id IN (SELECT value FROM json_each(?2)))
     AND (p.host IS ?1 OR EXISTS (SELECT 1 FROM daemons d WHERE d.host = p.host AND d.seen_at_ms > ${nowMs} - ?3))
     ORDER BY s.slot_awaited_at, s.id`,
    [db.host, JSON.stringify(ids), silentMs],
  )

/** Whether any project or credential has a limit. */
export const hasSlotBounds = async (db: Reader): Promise<boolean> =>
  (await db.get(
    `SELECT 1 FROM projects WHERE agent_slots IS NOT NULL UNION ALL SELECT 1 FROM credentials WHERE agent_slots IS NOT NULL LIMIT 1`,
  )) !== undefined

/** This machine's queued sessions have no slot. A slot in their rows was taken by a server that died. */
export const releaseSlots = async (tx: Transaction): Promise<void> => {
  tx.enqueue(
    `UPDATE agent_sessions SET slot_taken_at = NULL WHERE slot_taken_at IS NOT NULL AND status = 'queued'
     AND ended_at IS NULL AND project_id IN (SELECT id FROM projects WHERE host IS ?)`,
    [tx.host],
  )
}
