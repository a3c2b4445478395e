import type { MonitorStatus } from '../contract/monitors.ts'
import type { Reader, Transaction } from './database.ts'

/** How a run ended that was not cut short. */
export type Outcome = Extract<MonitorStatus, 'ok' | 'failing' | 'error' | 'timeout'>
/**
 * `outcome` is how the latest run ended, null before the first one and after a pause. `byAgent` tells that an agent made it.
 * `isActive` tells whether its card is in active execution; what an agent made also rests while that agent is cancelled.
 */
export interface MonitorRow {
  id: number
  projectId: number
  cardId: number
  command: string
  intervalSecs: number
  description: string | null
  cwd: string
  byAgent: number
  status: MonitorStatus
  outcome: Outcome | null
  exitCode: number | null
  error: string | null
  output: string
  lastStartedAt: string | null
  lastFinishedAt: string | null
  nextRunAt: string | null
  consecutiveFailures: number
  createdAt: string
  updatedAt: string
  isActive: number
}
export type NewMonitor = Pick<
  MonitorRow,
  'projectId' | 'cardId' | 'command' | 'intervalSecs' | 'description' | 'cwd'
> & { byAgent: boolean }
/** What the schedule needs of every monitor. */
export type ScheduleRow = Pick<
  MonitorRow,
  'id' | 'projectId' | 'cardId' | 'intervalSecs' | 'status' | 'nextRunAt' | 'isActive'
>

const isActive = `(c.kind = 'kanban' AND c.archived_at IS NULL AND c.deleted_at IS NULL AND l.column_type = 'active' AND NOT (m.by_agent = 1 AND c.status = 'cancelled')) AS isActive`
const fields = `m.id, m.project_id AS projectId, m.card_id AS cardId, m.command, m.interval_secs AS intervalSecs, m.description, m.cwd, m.by_agent AS byAgent, m.status, m.outcome, m.exit_code AS exitCode, m.error, m.output,
  m.last_started_at AS lastStartedAt, m.last_finished_at AS lastFinishedAt, m.next_run_at AS nextRunAt, m.consecutive_failures AS consecutiveFailures, m.created_at AS createdAt, m.updated_at AS updatedAt, ${isActive}`
/** CROSS JOIN holds the order: monitors are few and cards are many, which the planner does not know. */
const ofThisMachine = 'JOIN projects p ON p.id = m.project_id AND p.host IS ?'
const from = 'FROM monitors m CROSS JOIN cards c ON c.id = m.card_id CROSS JOIN columns l ON l.id = c.column_id'

/** A monitor, of a deleted card too. */
export const readMonitor = (db: Reader, id: number): Promise<MonitorRow | undefined> =>
  db.get(`SELECT ${fields} ${from} WHERE m.id = ?`, [id])
/** A monitor of a project whose card is not deleted. */
export const readVisibleMonitor = (db: Reader, projectId: number, id: number): Promise<MonitorRow | undefined> =>
  db.get(`SELECT ${fields} ${from} WHERE m.id = ? AND m.project_id = ? AND c.deleted_at IS NULL`, [id, projectId])
/** A card's monitors in the order of their creation. */
export const listCardMonitors = (db: Reader, cardId: number): Promise<MonitorRow[]> =>
  db.all(`SELECT ${fields} ${from} WHERE m.card_id = ? ORDER BY m.id`, [cardId])
/** The monitors of a project's cards, those of deleted ones left out. */
export const listProjectMonitors = (db: Reader, projectId: number): Promise<MonitorRow[]> =>
  db.all(`SELECT ${fields} ${from} WHERE m.project_id = ? AND c.deleted_at IS NULL ORDER BY m.id`, [projectId])
export const countMonitors = async (db: Reader, cardId: number): Promise<number> =>
  (await db.get<{ total: number }>('SELECT count(*) AS total FROM monitors WHERE card_id = ?', [cardId]))!.total
/** How many monitors there are, by status. */
export const countMonitorsByStatus = (db: Reader): Promise<Array<{ kind: string; total: number }>> =>
  db.all('SELECT status AS kind, count(*) AS total FROM monitors GROUP BY status')
/** Every monitor of the server. */
export const listSchedules = (db: Reader): Promise<ScheduleRow[]> =>
  db.all(
    `SELECT m.id, m.project_id AS projectId, m.card_id AS cardId, m.interval_secs AS intervalSecs, m.status, m.next_run_at AS nextRunAt, ${isActive} ${from} ${ofThisMachine}`,
    [db.host],
  )

/** A new monitor is due at once. */
export const insertMonitor = async (tx: Transaction, monitor: NewMonitor): Promise<number> =>
  (
    await tx.run(
      'INSERT INTO monitors (project_id, card_id, command, interval_secs, description, cwd, by_agent, next_run_at, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
      [
        monitor.projectId,
        monitor.cardId,
        monitor.command,
        monitor.intervalSecs,
        monitor.description,
        monitor.cwd,
        Number(monitor.byAgent),
        tx.now,
        tx.now,
        tx.now,
      ],
    )
  ).lastId

export const deleteMonitor = async (tx: Transaction, id: number): Promise<void> => {
  tx.enqueue('DELETE FROM monitors WHERE id = ?', [id])
}

/** Database columns that a change of a monitor may name. */
const changeable = {
  status: 'status',
  outcome: 'outcome',
  exitCode: 'exit_code',
  error: 'error',
  output: 'output',
  lastStartedAt: 'last_started_at',
  lastFinishedAt: 'last_finished_at',
  nextRunAt: 'next_run_at',
  consecutiveFailures: 'consecutive_failures',
} as const
export type MonitorChange = Partial<Pick<MonitorRow, keyof typeof changeable>>

export async function updateMonitor(tx: Transaction, id: number, change: MonitorChange): Promise<void> {
  const names = Object.keys(change) as Array<keyof MonitorChange>
  tx.enqueue(
    `UPDATE monitors SET ${names.map(name => `${changeable[name]} = ?, `).join('')}updated_at = ? WHERE id = ?`,
    [...names.map(name => change[name]), tx.now, id],
  )
}

/** Sets only when a monitor runs next, which is no change of it. */
export const setNextRun = async (tx: Transaction, id: number, nextRunAt: string): Promise<void> => {
  tx.enqueue('UPDATE monitors SET next_run_at = ? WHERE id = ?', [nextRunAt, id])
}

/** The monitors whose rows say that they run. */
export const listRunningMonitors = (db: Reader): Promise<Array<Pick<MonitorRow, 'id'>>> =>
  db.all(`SELECT m.id FROM monitors m ${ofThisMachine} WHERE m.status = 'running'`, [db.host])
