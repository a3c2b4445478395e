import { appendEvent } from '../../events/outbox.ts'
import type { Transaction } from '../../store/engine/database.ts'
import {
  readMonitor,
  updateMonitor,
  type MonitorChange,
  type MonitorRow,
  type Outcome,
} from '../../store/automation/monitors.ts'
import { monitor as view } from '../../views/monitors.ts'

/** The result of a run. Without `outcome`, the run was cut short and has no result for the command. */
export interface RunResult {
  outcome?: Outcome
  exitCode: number | null
  error: string | null
  output: string
}

/**
 * Marks a monitor as running. Undefined if it was deleted, is not allowed to run, is already running or its card is not active.
 */
export async function begin(tx: Transaction, id: number): Promise<MonitorRow | undefined> {
  const row = await readMonitor(tx, id)
  if (row?.permission !== 'allowed' || row.isActive === 0 || row.status === 'running') return undefined
  await updateMonitor(tx, id, { status: 'running', lastStartedAt: tx.now, nextRunAt: null })
  return row
}

/**
 * Records a run's result. Appends an event if the outcome differs from the previous one, and after the first run.
 * @returns the monitor with its previous outcome if an event was appended, otherwise undefined
 */
export async function finish(
  tx: Transaction,
  id: number,
  { outcome, ...result }: RunResult,
  nextRunAt: string,
): Promise<{ monitor: MonitorRow; before: Outcome | null } | undefined> {
  const before = await readMonitor(tx, id)
  if (!before) return undefined
  const ended = { ...result, lastFinishedAt: tx.now }
  if (before.isActive === 0) return void (await change(tx, id, { ...ended, ...paused }))
  if (!outcome) return void (await updateMonitor(tx, id, { ...ended, status: before.outcome ?? 'pending', nextRunAt }))
  const to = {
    ...ended,
    status: outcome,
    outcome,
    nextRunAt,
    consecutiveFailures: outcome === 'ok' ? 0 : before.consecutiveFailures + 1,
  }
  if (before.outcome !== null && (before.outcome === 'ok') === (outcome === 'ok'))
    return void (await updateMonitor(tx, id, to))
  return { monitor: await change(tx, id, to), before: before.outcome }
}

/**
 * Pauses a monitor whose card has left active execution, and resumes it when the card is back: it is due at once, and
 * its next result notifies again.
 */
export async function followCard(tx: Transaction, id: number): Promise<void> {
  const row = await readMonitor(tx, id)
  if (row && row.isActive === 0 && row.status !== 'paused') await change(tx, id, paused)
  if (row && row.isActive === 1 && row.status === 'paused')
    await change(tx, id, { status: 'pending', nextRunAt: tx.now })
}

/**
 * Repairs a monitor whose run was interrupted by the end of an earlier server: it is due an interval after its last
 * start.
 */
export async function recover(tx: Transaction, id: number): Promise<void> {
  const row = await readMonitor(tx, id)
  if (row?.status !== 'running') return
  const nextRunAt = new Date(Date.parse(row.lastStartedAt ?? tx.now) + row.intervalSecs * 1000).toISOString()
  await finish(tx, id, { exitCode: null, error: cutByServer, output: '' }, nextRunAt)
}

/** The error of a run that ended with its server. */
export const cutByServer = 'The server stopped while the command ran.'

const paused = { status: 'paused', outcome: null, nextRunAt: null } satisfies MonitorChange

async function change(tx: Transaction, id: number, to: MonitorChange): Promise<MonitorRow> {
  await updateMonitor(tx, id, to)
  const row = (await readMonitor(tx, id))!
  await appendEvent(tx, 'monitor.updated', row.projectId, view(row))
  return row
}
