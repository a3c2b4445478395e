import type { MonitorStatus } from '../../contract/automation/monitors.ts'
import type { Reader, Transaction } from '../engine/database.ts'
import { defineRecord, flag, id, number, text, type Change, type Row } from '../engine/record.ts'

/** The outcome of a run that was not cut short. */
export type Outcome = Extract<MonitorStatus, 'ok' | 'failing' | 'error' | 'timeout'>
/** asked: a user must allow the monitor before it runs. */
export type MonitorPermission = 'allowed' | 'asked' | 'rejected'
/**
 * `outcome` is that of the latest run, and null before the first run and after a pause. `byAgent`: an agent created the monitor.
 * `isActive`: its card is in active execution; a monitor that an agent created also rests while that agent is cancelled.
 */
export const monitorFields = {
  id: id(),
  projectId: id(),
  cardId: id(),
  command: text(),
  intervalSecs: number(),
  description: text().orNull(),
  cwd: text(),
  byAgent: flag(),
  permission: text<MonitorPermission>().initially('allowed'),
  status: text<MonitorStatus>().initially('pending'),
  outcome: text<Outcome>().orNull(),
  exitCode: number().orNull(),
  error: text().orNull(),
  output: text().initially(''),
  lastStartedAt: text().orNull(),
  lastFinishedAt: text().orNull(),
  /** A new monitor is due at once. */
  nextRunAt: text().orNull().initiallyNow(),
  consecutiveFailures: number().initially(0),
  createdAt: text().initiallyNow(),
  updatedAt: text().initiallyNow(),
  isActive: flag().computed(
    `(c.kind = 'kanban' AND c.archived_at IS NULL AND c.deleted_at IS NULL AND l.column_type = 'active' AND NOT (m.by_agent = 1 AND c.status = 'cancelled'))`,
  ),
}
export type MonitorRow = Row<typeof monitorFields>
export type NewMonitor = Pick<
  MonitorRow,
  'projectId' | 'cardId' | 'command' | 'intervalSecs' | 'description' | 'cwd'
> & { byAgent: boolean; permission?: MonitorPermission }
const record = defineRecord('monitors', 'm', monitorFields)
const fields = record.columns
const scheduled = ['id', 'projectId', 'cardId', 'intervalSecs', 'status', 'nextRunAt', 'isActive'] as const
/** The fields of a monitor that its schedule uses. */
export type ScheduleRow = Pick<MonitorRow, (typeof scheduled)[number]>

/** CROSS JOIN fixes the join order, because the planner cannot know that monitors are few and cards are many. */
const ofThisMachine = 'JOIN projects p ON p.id = m.project_id AND p.host IS ?'
const from = 'FROM monitors m CROSS JOIN cards c ON c.id = m.card_id CROSS JOIN columns l ON l.id = c.column_id'

/** A monitor, including one of a deleted card. */
export const readMonitor = (db: Reader, id: number): Promise<MonitorRow | undefined> =>
  db.get(`SELECT ${fields} ${from} WHERE m.id = ?`, [id])
/** A monitor of a project whose card is not deleted. */
export const readVisibleMonitor = (db: Reader, projectId: number, id: number): Promise<MonitorRow | undefined> =>
  db.get(`SELECT ${fields} ${from} WHERE m.id = ? AND m.project_id = ? AND c.deleted_at IS NULL`, [id, projectId])
/** A card's monitors in the order of their creation. */
export const listCardMonitors = (db: Reader, cardId: number): Promise<MonitorRow[]> =>
  db.all(`SELECT ${fields} ${from} WHERE m.card_id = ? ORDER BY m.id`, [cardId])
/** The monitors of a project's cards, except deleted cards. */
export const listProjectMonitors = (db: Reader, projectId: number): Promise<MonitorRow[]> =>
  db.all(`SELECT ${fields} ${from} WHERE m.project_id = ? AND c.deleted_at IS NULL ORDER BY m.id`, [projectId])
export const countMonitors = async (db: Reader, cardId: number): Promise<number> =>
  (await db.get<{ total: number }>('SELECT count(*) AS total FROM monitors WHERE card_id = ?', [cardId]))!.total
/** The number of monitors by status. */
export const countMonitorsByStatus = (db: Reader): Promise<Array<{ kind: string; total: number }>> =>
  db.all('SELECT status AS kind, count(*) AS total FROM monitors GROUP BY status')
/** Every monitor of the server that is allowed to run. */
export const listSchedules = (db: Reader): Promise<ScheduleRow[]> =>
  db.all(`SELECT ${record.columnsOf(scheduled)} ${from} ${ofThisMachine} WHERE m.permission = 'allowed'`, [db.host])
/** A card's monitors that wait for a user's permission, oldest first. */
export const listAskedMonitors = (db: Reader, cardId: number): Promise<MonitorRow[]> =>
  db.all(`SELECT ${fields} ${from} WHERE m.card_id = ? AND m.permission = 'asked' ORDER BY m.id`, [cardId])
/** The number of a project's monitors that wait for a user's permission. */
export const countAskedMonitors = async (db: Reader, projectId: number): Promise<number> =>
  (await db.get<{ total: number }>(
    'SELECT coalesce(sum(monitor_questions), 0) AS total FROM cards WHERE project_id = ? AND monitor_questions > 0 AND deleted_at IS NULL',
    [projectId],
  ))!.total

export const insertMonitor = (tx: Transaction, monitor: NewMonitor): Promise<number> => record.insert(tx, monitor)

export const deleteMonitor = async (tx: Transaction, id: number): Promise<void> => {
  tx.enqueue('DELETE FROM monitors WHERE id = ?', [id])
}

export type MonitorChange = Pick<
  Change<typeof monitorFields>,
  | 'permission'
  | 'status'
  | 'outcome'
  | 'exitCode'
  | 'error'
  | 'output'
  | 'lastStartedAt'
  | 'lastFinishedAt'
  | 'nextRunAt'
  | 'consecutiveFailures'
>
export const updateMonitor = async (tx: Transaction, id: number, change: MonitorChange): Promise<void> =>
  record.update(tx, id, change)

/** Sets the time of a monitor's next run. Its time of change is unchanged. */
export const setNextRun = async (tx: Transaction, id: number, nextRunAt: string): Promise<void> => {
  tx.enqueue('UPDATE monitors SET next_run_at = ? WHERE id = ?', [nextRunAt, id])
}

/** The monitors that are marked as running. */
export const listRunningMonitors = (db: Reader): Promise<Array<Pick<MonitorRow, 'id'>>> =>
  db.all(`SELECT m.id FROM monitors m ${ofThisMachine} WHERE m.status = 'running'`, [db.host])
