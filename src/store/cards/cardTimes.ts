import { blockedSql } from './cardFields.ts'
import type { Reader, Transaction } from '../engine/database.ts'

/** A card that starts automatically, with the permissions of its starter. */
export interface HeldCard {
  id: number
  projectId: number
  starterUserId: number | null
  starterKeyId: number | null
}
/** A card with a due reminder. */
export interface CardToRemind {
  id: number
  projectId: number
  dueAt: string
  /** Whether the card is in no done column, not archived and not in the trash. */
  isOpen: number
}

/** The condition for cards that only their start time delays: not blocked, archived or in the trash. */
const waitsForTime = `c.start_held = 1 AND c.archived_at IS NULL AND c.deleted_at IS NULL AND NOT ${blockedSql}`
const held = `FROM cards c INDEXED BY cards_to_start JOIN projects p ON p.id = c.project_id AND p.host IS ? WHERE ${waitsForTime}`

/** The first time at which a card of this machine starts. */
export const readNextStart = async (db: Reader): Promise<string | null> =>
  (await db.get<{ at: string }>(`SELECT c.start_at AS at ${held} ORDER BY c.start_at LIMIT 1`, [db.host]))?.at ?? null

/** Cards of this machine whose start time has come and was the only reason to wait, the earliest first. */
export const listDueStarts = (db: Reader, now: string, limit: number): Promise<HeldCard[]> =>
  db.all(
    `SELECT c.id, c.project_id AS projectId, c.starter_user_id AS starterUserId, c.starter_key_id AS starterKeyId ${held} AND c.start_at <= ? ORDER BY c.start_at, c.id LIMIT ?`,
    [db.host, now, limit],
  )
/** Whether a card still waits only for a time that has come. */
export const isStartDue = async (tx: Transaction, id: number): Promise<boolean> =>
  (await tx.get(`SELECT 1 FROM cards c WHERE c.id = ? AND c.start_at <= ? AND ${waitsForTime}`, [id, tx.now])) !==
  undefined

const reminded = 'FROM cards c INDEXED BY cards_to_remind WHERE c.due_remind_at IS NOT NULL'

/** The time of the next due date reminder. */
export const readNextReminder = async (db: Reader): Promise<string | null> =>
  (await db.get<{ at: string | null }>(`SELECT min(c.due_remind_at) AS at ${reminded}`))!.at

/** Cards with a reminder due now, the earliest first. */
export const listDueReminders = (db: Reader, now: string, limit: number): Promise<CardToRemind[]> =>
  db.all(
    `SELECT c.id, c.project_id AS projectId, c.due_at AS dueAt, (c.done_at IS NULL AND c.archived_at IS NULL AND c.deleted_at IS NULL) AS isOpen
     ${reminded} AND c.due_remind_at <= ? ORDER BY c.due_remind_at, c.id LIMIT ?`,
    [now, limit],
  )
/** Sets the time of a card's next reminder. Version and time are unchanged. */
export const setNextReminder = (tx: Transaction, id: number, at: string | null): void => {
  tx.enqueue('UPDATE cards SET due_remind_at = ? WHERE id = ?', [at, id])
}
