import { logFailure } from '../config/log.ts'
import { Problem } from '../contract/errors.ts'
import { monitorLimits } from '../contract/automation/monitors.ts'
import { begin } from '../domain/automation/monitorRuns.ts'
import { writeWithRetry, retryWhileBusy } from '../store/engine/retry.ts'
import { keepResult } from './results.ts'
import { runCommand, type RunDependencies } from './run.ts'
import type { Schedule, Scheduled } from './schedule.ts'

const retryMs = 10_000

/** Runs due monitors, up to the server's limit at once. */
export interface Runner {
  isRunning(id: number): boolean
  /** Starts due monitors, and again when the next one is due or a run ends. */
  startDue(): void
  /** Aborts the selected runs with a reason. */
  cut(which: (id: number) => boolean, reason: string): void
  /** Starts no more runs, and aborts all. Resolves when they have ended. */
  close(reason: string): Promise<void>
}

interface Running extends Scheduled {
  over: Promise<void>
  stopping: AbortController
}

/**
 * @param dependencies available once the server listens
 * @param wallTime returns the time N milliseconds from now, ISO 8601
 * @param onCut called when an aborted run has ended
 */
export function createRunner(
  dependencies: () => RunDependencies,
  schedule: Schedule,
  wallTime: (inMs: number) => string,
  onCut: () => void,
): Runner {
  const running = new Map<number, Running>()
  let isClosed = false
  let timer: NodeJS.Timeout | undefined

  const startDue = () => {
    for (let next = free(); next; next = free()) running.set(next.id, start(next))
    clearTimeout(timer)
    const inMs = schedule.untilNextMs()
    if (inMs !== undefined && !isClosed) timer = setTimeout(startDue, inMs).unref()
  }
  const free = () => (isClosed || running.size >= monitorLimits.maxConcurrent ? undefined : schedule.next(running))
  const start = (monitor: Scheduled): Running => {
    const stopping = new AbortController()
    const over = runOnce(dependencies(), schedule, wallTime, monitor.id, stopping.signal).then(() => {
      running.delete(monitor.id)
      startDue()
      if (stopping.signal.aborted) onCut()
    })
    return { ...monitor, over, stopping }
  }
  return {
    isRunning: id => running.has(id),
    startDue,
    cut: (which, reason) => {
      for (const { id, stopping } of running.values()) if (which(id)) stopping.abort(reason)
    },
    close: async reason => {
      isClosed = true
      clearTimeout(timer)
      const over = [...running.values()].map(run => run.over)
      for (const { stopping } of running.values()) stopping.abort(reason)
      await Promise.all(over)
    },
  }
}

/** Runs a monitor once: marks its row, runs the command and stores the result. Never rejects. */
async function runOnce(
  dependencies: RunDependencies,
  schedule: Schedule,
  wallTime: (inMs: number) => string,
  id: number,
  stopped: AbortSignal,
): Promise<void> {
  const { db, log } = dependencies
  try {
    const monitor = await retryWhileBusy(() => db.transaction(tx => begin(tx, id)))
    if (!monitor) return schedule.forget(id)
    const result = await runCommand(dependencies, monitor, stopped)
    const inMs = schedule.advance(id)
    await writeWithRetry(
      db,
      tx => keepResult(tx, id, result, wallTime(inMs)),
      code => log('warn', 'The result of a monitor run could not be stored yet.', { code }),
    )
  } catch (error) {
    if (error instanceof Problem) log('warn', 'A monitor run is postponed.', { monitorId: id, code: error.code })
    else logFailure(log, 'A monitor run could not be stored.', error, { monitorId: id })
    schedule.postpone(id, retryMs)
  }
}
