import type { InferOutput } from 'valibot'
import type { CatchUp, Overlap, ShownTemplate } from '../../contract/automation/schedules.ts'
import type { Reader, Transaction } from '../engine/database.ts'
import { defineRecord, flag, id, json, number, text, type Change, type NewRow, type Row } from '../engine/record.ts'

/** The stored template for the cards of a schedule. */
export type StoredTemplate = Omit<InferOutput<typeof ShownTemplate>, 'columnId' | 'assigneeIds'> & {
  columnId: number | null
  assigneeIds: readonly number[]
}

export const scheduleFields = {
  id: id(),
  projectId: id(),
  name: text(),
  cron: text().orNull(),
  everySecs: number().orNull(),
  timeZone: text(),
  /** A time from which the intervals are counted. */
  anchorAt: text(),
  template: json<StoredTemplate>(),
  overlap: text<InferOutput<typeof Overlap>>(),
  catchUp: text<InferOutput<typeof CatchUp>>(),
  enabled: flag(),
  disabledReason: text().orNull(),
  makerUserId: id().orNull(),
  makerKeyId: id().orNull(),
  nextRunAt: text().orNull(),
  /** The due time of a run that waits. */
  waitingSince: text().orNull(),
  /** The due time of the latest run, whether a card was created or not. */
  lastDueAt: text().orNull(),
  lastRunAt: text().orNull(),
  lastCardId: id().orNull(),
  skipped: number().initially(0),
  createdAt: text().initiallyNow(),
  updatedAt: text().initiallyNow(),
  makerName: text().orNull().computed('u.display_name'),
  makerKeyName: text().orNull().computed('k.name'),
}
export type ScheduleRow = Row<typeof scheduleFields>
export type NewSchedule = NewRow<typeof scheduleFields>
export type ScheduleChange = Omit<Change<typeof scheduleFields>, 'projectId' | 'createdAt' | 'updatedAt'>

const record = defineRecord('schedules', 's', scheduleFields)
const from =
  'FROM schedules s LEFT JOIN users u ON u.id = s.maker_user_id LEFT JOIN api_keys k ON k.id = s.maker_key_id'

/** A project's schedules, oldest first. */
export const listSchedules = (db: Reader, projectId: number): Promise<ScheduleRow[]> =>
  db.all(`SELECT ${record.columns} ${from} WHERE s.project_id = ? ORDER BY s.id`, [projectId])
export const countSchedules = async (db: Reader, projectId: number): Promise<number> =>
  (await db.get<{ total: number }>('SELECT count(*) AS total FROM schedules WHERE project_id = ?', [projectId]))!.total
export const readSchedule = (db: Reader, id: number): Promise<ScheduleRow | undefined> =>
  db.get(`SELECT ${record.columns} ${from} WHERE s.id = ?`, [id])

export const insertSchedule = (tx: Transaction, schedule: NewSchedule): Promise<number> => record.insert(tx, schedule)
export const updateSchedule = async (tx: Transaction, id: number, change: ScheduleChange): Promise<void> =>
  record.update(tx, id, change)
export const deleteSchedule = async (tx: Transaction, id: number): Promise<void> => {
  tx.enqueue('DELETE FROM schedules WHERE id = ?', [id])
}

/** Reassigns the schedules of an API key to its successor. */
export const reassignSchedules = async (tx: Transaction, fromKeyId: number, toKeyId: number): Promise<void> => {
  await tx.run('UPDATE schedules SET maker_key_id = ? WHERE maker_key_id = ?', [toKeyId, fromKeyId])
}

const ofMachine = 'JOIN projects p ON p.id = s.project_id AND p.host IS ? AND p.hidden = 0'

/** The first time at which a schedule of this machine runs. */
export const readNextRun = async (db: Reader): Promise<string | null> =>
  (await db.get<{ at: string | null }>(
    `SELECT min(s.next_run_at) AS at FROM schedules s INDEXED BY schedules_due ${ofMachine} WHERE s.enabled = 1`,
    [db.host],
  ))!.at

/** Schedules of this machine that are due, or whose next run is beyond a time because the clock was set back. */
export const listDueSchedules = async (db: Reader, now: string, limit: number): Promise<number[]> =>
  (
    await db.all<{ id: number }>(
      `SELECT s.id FROM schedules s INDEXED BY schedules_due ${ofMachine} WHERE s.enabled = 1 AND s.next_run_at <= ? ORDER BY s.next_run_at, s.id LIMIT ?`,
      [db.host, now, limit],
    )
  ).map(({ id }) => id)

/** Schedules of this machine with a waiting run that no longer waits for the last card. */
export const listWaitingSchedules = async (db: Reader): Promise<number[]> =>
  (
    await db.all<{ id: number }>(
      `SELECT s.id FROM schedules s INDEXED BY schedules_waiting ${ofMachine} LEFT JOIN cards c ON c.id = s.last_card_id
       WHERE s.waiting_since IS NOT NULL AND s.enabled = 1 AND (s.overlap = 'add' OR c.id IS NULL OR ${isClosed}) ORDER BY s.waiting_since, s.id`,
      [db.host],
    )
  ).map(({ id }) => id)

/** All schedules of this machine that run automatically. */
export const listEnabledSchedules = (db: Reader): Promise<ScheduleRow[]> =>
  db.all(`SELECT ${record.columns} ${from} ${ofMachine} WHERE s.enabled = 1`, [db.host])

const isClosed = '(c.done_at IS NOT NULL OR c.archived_at IS NOT NULL OR c.deleted_at IS NOT NULL)'
/** Whether a schedule's last card exists and is neither done nor archived nor in the trash. */
export const isCardOpen = async (db: Reader, cardId: number): Promise<boolean> =>
  (await db.get(`SELECT 1 FROM cards c WHERE c.id = ? AND NOT ${isClosed}`, [cardId])) !== undefined
