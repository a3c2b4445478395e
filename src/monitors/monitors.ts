import type { ServerConfig } from '../config/server.ts'
import { createClockJumpCheck } from '../async/clockJump.ts'
import { cutByServer, followCard, recover } from '../domain/automation/monitorRuns.ts'
import type { Outbox } from '../events/outbox.ts'
import { createReconciler, withinStop, type ServerAccess } from '../process/reconciler.ts'
import type { ProcessTrees } from '../process/spawn.ts'
import type { Database } from '../store/engine/database.ts'
import { listRunningMonitors, listSchedules, setNextRun, type ScheduleRow } from '../store/automation/monitors.ts'
import { createRunner, type Runner } from './runner.ts'
import { createSchedule, type Schedule } from './schedule.ts'

export interface Monitors {
  /** Reconciles runs with the rows. Resolves when no reconciliation is pending. */
  reconcile(): Promise<void>
  /** Starts to run monitors. */
  start(server: ServerAccess): void
  /** Ends every run; the rows stay, and resume with the next server. Takes at most 9 s. */
  stop(): Promise<void>
}

interface MonitorDependencies {
  db: Database
  processTrees: ProcessTrees
  outbox: Outbox
  config: ServerConfig
}

/** Runs the monitors of active cards when they are due according to their rows. */
export function createMonitors({ db, processTrees, outbox, config }: MonitorDependencies): Monitors {
  const wallTime = (inMs: number) => new Date(config.clock().getTime() + inMs).toISOString()
  const schedule = createSchedule()
  const runner = createRunner(
    () => ({ db, processTrees, ...reconciler.server!, timeoutMs: config.monitorTimeoutMs }),
    schedule,
    wallTime,
    () => reconciler.wake(),
  )
  // The schedule itself uses a monotonic clock. Times of the system clock are for display and for the next server.
  const checkClock = createClockJumpCheck(config, () =>
    db.transaction(async tx => {
      for (const id of schedule.ids()) if (!runner.isRunning(id)) await setNextRun(tx, id, wallTime(schedule.inMs(id)!))
    }),
  )
  const reconcile = async () => {
    await reconcileRows(db, schedule, runner, config)
    await checkClock()
    runner.startDue()
  }
  const reconciler = createReconciler('Monitors', reconcile, { outbox })

  return {
    reconcile: () => {
      reconciler.wake()
      return reconciler.idle()
    },
    start: reconciler.start,
    stop: async () => {
      await withinStop(Promise.all([reconciler.end(), runner.close(cutByServer)]))
    },
  }
}

/** For the start of a server, after the processes of an earlier one were ended. */
export const recoverMonitors = (db: Database): Promise<void> =>
  db.transaction(async tx => {
    for (const { id } of await listRunningMonitors(tx)) await recover(tx, id)
  })

/** Reconciles with the rows: ends, pauses, resumes and adds monitors. */
async function reconcileRows(db: Database, schedule: Schedule, runner: Runner, config: ServerConfig): Promise<void> {
  const rows = await listSchedules(db)
  const active = new Set(rows.filter(({ isActive }) => isActive === 1).map(({ id }) => id))
  runner.cut(id => !active.has(id), 'The card left active execution, or its agent was cancelled.')
  for (const id of schedule.ids()) if (!active.has(id)) schedule.forget(id)
  const astray = rows.filter(row => isInconsistent(row) && !runner.isRunning(row.id))
  if (astray.length > 0)
    await db.transaction(async tx => {
      for (const { id } of astray) {
        if (!runner.isRunning(id)) await recover(tx, id)
        await followCard(tx, id)
      }
    })
  for (const row of rows)
    if (row.isActive === 1 && !isInconsistent(row) && !schedule.has(row.id)) schedule.add(row, untilDue(row, config))
}

/** Whether the row of a monitor without a run here has the status running, or disagrees with its card. */
const isInconsistent = ({ status, isActive }: ScheduleRow): boolean =>
  status === 'running' || (status === 'paused') === (isActive === 1)

/**
 * The time until a row's next run: a missed run is due now, and none is further away than an interval, regardless of changes of
 * the clock.
 */
const untilDue = ({ nextRunAt, intervalSecs }: ScheduleRow, { clock }: ServerConfig): number =>
  Math.min(Math.max(0, nextRunAt === null ? 0 : Date.parse(nextRunAt) - clock().getTime()), intervalSecs * 1000)
