import { setTimeout as delay } from 'node:timers/promises'
import type { Log } from '../agents/parts.ts'
import type { ServerConfig } from '../config/server.ts'
import { monitorLimits } from '../contract/monitors.ts'
import { begin, cutByServer, followCard, recover } from '../domain/monitorRuns.ts'
import type { Outbox } from '../events/outbox.ts'
import { whileNews } from '../process/whileNews.ts'
import type { Database } from '../store/database.ts'
import { insist } from '../store/insist.ts'
import { listRunningMonitors, listSchedules, setNextRun, type ScheduleRow } from '../store/monitors.ts'
import { keepResult } from './results.ts'
import { runCommand } from './run.ts'
import { createSchedule, type Scheduled } from './schedule.ts'

const mostStopMs = 9000
const retryMs = 1000
/** A difference between two clocks that is more than their unevenness. */
const clockJumpMs = 1000
/** What may put a monitor on or off the schedule. */
const news = /^(card|monitor|project)\./

/** Runs the monitors. */
export interface Monitors {
  /** Compares the rows with what runs. Resolves when nothing is left to be compared. */
  look(): Promise<void>
  /** Takes up work: commands reach the server at this address. */
  start(url: string, log: Log): void
  /** Ends every run; the rows stay, and go on with the next server. Takes at most 9 s. */
  stop(): Promise<void>
}

interface Running extends Scheduled { over: Promise<void>; stop(reason: string): void }

/** What the rows of monitors say is what it does: each one of an active card runs when it is due, and nothing else runs. */
export function createMonitors({ db, outbox, config }: { db: Database; outbox: Outbox; config: ServerConfig }): Monitors {
  const schedule = createSchedule()
  const running = new Map<number, Running>()
  const state = { at: undefined as { url: string; log: Log } | undefined, isStopping: false, clockAheadMs: clockAhead(config), timer: undefined as NodeJS.Timeout | undefined, unsubscribe: () => {} }
  const wallTime = (inMs: number) => new Date(config.clock().getTime() + inMs).toISOString()

  const look = async () => {
    const rows = new Map((await listSchedules(db)).map(row => [row.id, row]))
    for (const run of running.values()) if (rows.get(run.id)?.isActive !== 1) run.stop('The card has left active execution.')
    for (const id of schedule.ids()) if (rows.get(id)?.isActive !== 1) schedule.forget(id)
    const astray = [...rows.values()].filter(row => !running.has(row.id) && isAstray(row))
    if (astray.length > 0) await db.transaction(async tx => {
      for (const { id } of astray) await (running.has(id) ? undefined : recover(tx, id))
      for (const { id } of astray) await followCard(tx, id)
    })
    for (const row of rows.values()) if (row.isActive === 1 && !isAstray(row) && !schedule.has(row.id) && !running.has(row.id)) schedule.add(row, untilDue(row, config))
    await followClock()
    startDue()
  }
  /** Times of the wall clock are for show and for the next server: they follow when that clock is set. */
  const followClock = async () => {
    const aheadMs = clockAhead(config)
    if (Math.abs(aheadMs - state.clockAheadMs) < clockJumpMs) return
    await db.transaction(async tx => { for (const id of schedule.ids()) if (!running.has(id)) await setNextRun(tx, id, wallTime(schedule.inMs(id)!)) })
    state.clockAheadMs = aheadMs
  }
  const startDue = () => {
    while (!state.isStopping && running.size < monitorLimits.mostAtOnce) {
      const next = schedule.next(running)
      if (!next) break
      startRun(next)
    }
    clearTimeout(state.timer)
    const inMs = schedule.untilNextMs()
    if (inMs !== undefined && !state.isStopping) state.timer = setTimeout(startDue, inMs).unref()
  }
  const startRun = (monitor: Scheduled) => {
    const stopped = new AbortController()
    const over = runOnce(monitor, stopped.signal)
      .catch(error => {
        state.at!.log('error', 'A run of a monitor could not be kept.', { monitorId: monitor.id, cause: error instanceof Error ? error.stack : String(error) })
        schedule.postpone(monitor.id, retryMs)
      })
      .finally(() => {
        running.delete(monitor.id)
        startDue()
        // The card may have left or come back meanwhile.
        if (stopped.signal.aborted) wake()
      })
    running.set(monitor.id, { ...monitor, over, stop: reason => stopped.abort(reason) })
  }
  const runOnce = async ({ id }: Scheduled, stopped: AbortSignal) => {
    const { url, log } = state.at!
    const monitor = await db.transaction(tx => begin(tx, id))
    if (!monitor) return schedule.forget(id)
    const result = await runCommand({ db, url, log, timeoutMs: config.monitorTimeoutMs }, monitor, stopped)
    const inMs = schedule.has(id) ? schedule.advance(id) : 0
    await insist(db, tx => keepResult(tx, id, result, wallTime(inMs)), code => log('warn', 'How a run of a monitor ended could not be kept yet.', { code }))
  }
  const { wake, atRest } = whileNews(look, error => state.at!.log('error', 'Monitors could not be looked at.', { cause: error instanceof Error ? error.stack : String(error) }), () => state.at !== undefined && !state.isStopping)

  return {
    look: () => {
      wake()
      return atRest()
    },
    start: (url, log) => {
      state.at = { url, log }
      state.unsubscribe = outbox.subscribe(events => { if (events.some(({ type }) => news.test(type))) wake() })
      wake()
    },
    stop: async () => {
      state.isStopping = true
      state.unsubscribe()
      clearTimeout(state.timer)
      await atRest()
      for (const run of running.values()) run.stop(cutByServer)
      await Promise.race([Promise.all([...running.values()].map(({ over }) => over)), delay(mostStopMs, undefined, { ref: false })])
    },
  }
}

/** At the start of a server, when what an earlier one left running has been ended. */
export const recoverMonitors = (db: Database): Promise<void> => db.transaction(async tx => { for (const { id } of await listRunningMonitors(tx)) await recover(tx, id) })

/** Whether a row of a monitor that does not run here says something else, or not what its card is. */
const isAstray = ({ status, isActive }: ScheduleRow): boolean => status === 'running' || (status === 'paused') === (isActive === 1)

/** How far off the run is that a row tells of: what was missed is due now, and nothing is further off than an interval, whatever became of the clock. */
const untilDue = ({ nextRunAt, intervalSecs }: ScheduleRow, { clock }: ServerConfig): number =>
  Math.min(Math.max(0, nextRunAt === null ? 0 : Date.parse(nextRunAt) - clock().getTime()), intervalSecs * 1000)

const clockAhead = ({ clock }: ServerConfig): number => clock().getTime() - performance.now()
