import { append } from '../events/outbox.ts'
import type { Transaction } from '../store/database.ts'
import { readMonitor, updateMonitor, type MonitorChange, type MonitorRow, type Outcome } from '../store/monitors.ts'
import { monitor as view } from '../views/monitors.ts'

/** How a run ended. Without `outcome` it was cut short and says nothing of what the command watches. */
export interface RunResult {
  outcome?: Outcome
  exitCode: number | null
  error: string | null
  output: string
}

/** Notes that a run begins. Undefined when the monitor is gone, runs already or its card is not active. */
export async function begin(tx: Transaction, id: number): Promise<MonitorRow | undefined> {
  const row = await readMonitor(tx, id)
  if (!row || row.isActive === 0 || row.status === 'running') return undefined
  await updateMonitor(tx, id, { status: 'running', lastStartedAt: tx.now, nextRunAt: null })
  return row
}

/**
 * Notes how a run ended. That all is well, or not any more, is told by an event: also of the first run, never of one that ended like the one before.
 * Returns the monitor if so, with what it was before; undefined when there is no news, or the monitor is gone.
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

/** Lets a monitor rest whose card has left active execution, and go on when it is back: it is due at once then, and all that it says is news again. */
export async function followCard(tx: Transaction, id: number): Promise<void> {
  const row = await readMonitor(tx, id)
  if (row && row.isActive === 0 && row.status !== 'paused') await change(tx, id, paused)
  if (row && row.isActive === 1 && row.status === 'paused')
    await change(tx, id, { status: 'pending', nextRunAt: tx.now })
}

/** Sets right a monitor whose run a server that is gone has left unfinished: it is due an interval after its last start. */
export async function recover(tx: Transaction, id: number): Promise<void> {
  const row = await readMonitor(tx, id)
  if (row?.status !== 'running') return
  const nextRunAt = new Date(Date.parse(row.lastStartedAt ?? tx.now) + row.intervalSecs * 1000).toISOString()
  await finish(tx, id, { exitCode: null, error: cutByServer, output: '' }, nextRunAt)
}

/** What is said of a run that ended with its server. */
export const cutByServer = 'The server stopped while the command ran.'

const paused = { status: 'paused', outcome: null, nextRunAt: null } satisfies MonitorChange

async function change(tx: Transaction, id: number, to: MonitorChange): Promise<MonitorRow> {
  await updateMonitor(tx, id, to)
  const row = (await readMonitor(tx, id))!
  await append(tx, 'monitor.updated', row.projectId, view(row))
  return row
}
