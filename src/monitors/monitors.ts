import type { Log } from '../config/log.ts'
import type { ServerConfig } from '../config/server.ts'
import { createClockJumpCheck } from '../config/clock.ts'
import { cutByServer, followCard, recover } from '../domain/monitorRuns.ts'
import { throttle } from '../async/throttle.ts'
import type { Outbox } from '../events/outbox.ts'
import { createReconciler, withinStop } from '../process/reconciler.ts'
import type { Database } from '../store/database.ts'
import { listRunningMonitors, listSchedules, setNextRun, type ScheduleRow } from '../store/monitors.ts'
import { createRunner, type Runner } from './runner.ts'
import { createSchedule, type Schedule } from './schedule.ts'

/** How long news are gathered: what a busy board tells costs one look. */
const gatherMs = 50

/** Runs the monitors. */
export interface Monitors {
  /** Compares the rows with what runs. Resolves when nothing is left to be compared. */
  reconcile(): Promise<void>
  /** Takes up work: commands reach the server at this address. */
  start(url: string, log: Log): void
  /** Ends every run; the rows stay, and go on with the next server. Takes at most 9 s. */
  stop(): Promise<void>
}

interface Parts {
  db: Database
  outbox: Outbox
  config: ServerConfig
}

/** What the rows of monitors say is what it does: each one of an active card runs when it is due, and nothing else runs. */
export function createMonitors({ db, outbox, config }: Parts): Monitors {
  let unsubscribe = () => {}
  const wallTime = (inMs: number) => new Date(config.clock().getTime() + inMs).toISOString()
  const schedule = createSchedule()
  const runner = createRunner(
    () => ({ db, ...reconciler.at!, timeoutMs: config.monitorTimeoutMs }),
    schedule,
    wallTime,
    () => reconciler.wake(),
  )
  // Times of the wall clock are for show and for the next server.
  const checkClock = createClockJumpCheck(config, () =>
    db.transaction(async tx => {
      for (const id of schedule.ids()) if (!runner.isRunning(id)) await setNextRun(tx, id, wallTime(schedule.inMs(id)!))
    }),
  )
  const reconcile = async () => {
    await compare(db, schedule, runner, config)
    await checkClock()
    runner.startDue()
  }
  const reconciler = createReconciler('Monitors', reconcile)

  return {
    reconcile: () => {
      reconciler.wake()
      return reconciler.idle()
    },
    start: (url, log) => {
      unsubscribe = outbox.onNews(throttle(reconciler.wake, gatherMs))
      reconciler.start(url, log)
    },
    stop: async () => {
      unsubscribe()
      await withinStop(Promise.all([reconciler.end(), runner.close(cutByServer)]))
    },
  }
}

/** At the start of a server, when what an earlier one left running has been ended. */
export const recoverMonitors = (db: Database): Promise<void> =>
  db.transaction(async tx => {
    for (const { id } of await listRunningMonitors(tx)) await recover(tx, id)
  })

/** Takes over what the rows say: what is to be ended, to rest or to go on, and what is new. */
async function compare(db: Database, schedule: Schedule, runner: Runner, config: ServerConfig): Promise<void> {
  const rows = await listSchedules(db)
  const active = new Set(rows.filter(({ isActive }) => isActive === 1).map(({ id }) => id))
  runner.cut(id => !active.has(id), 'The card left active execution, or its agent was cancelled.')
  for (const id of schedule.ids()) if (!active.has(id)) schedule.forget(id)
  const astray = rows.filter(row => isAstray(row) && !runner.isRunning(row.id))
  if (astray.length > 0)
    await db.transaction(async tx => {
      for (const { id } of astray) {
        if (!runner.isRunning(id)) await recover(tx, id)
        await followCard(tx, id)
      }
    })
  for (const row of rows)
    if (row.isActive === 1 && !isAstray(row) && !schedule.has(row.id)) schedule.add(row, untilDue(row, config))
}

/** Whether a row of a monitor that does not run here says something else, or not what its card is. */
const isAstray = ({ status, isActive }: ScheduleRow): boolean =>
  status === 'running' || (status === 'paused') === (isActive === 1)

/** How far off the run is that a row tells of: what was missed is due now, and nothing is further off than an interval, whatever became of the clock. */
const untilDue = ({ nextRunAt, intervalSecs }: ScheduleRow, { clock }: ServerConfig): number =>
  Math.min(Math.max(0, nextRunAt === null ? 0 : Date.parse(nextRunAt) - clock().getTime()), intervalSecs * 1000)
