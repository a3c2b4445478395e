import { setMaxListeners } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { logFailure } from '../../src/config/log.ts'
import { periodicJobs, type Job, type JobDependencies } from './periodicJobs.ts'
import type { Log } from './stderrLog.ts'

/** Longer jobs are logged. */
const slowMs = 1000
/** How often a daemon checks whether it holds a job's lease. */
const dutySecs = 1

/**
 * Runs every job now or after its first wait, and again `everySecs` after it has ended. A job never overlaps itself, and no job
 * blocks another.
 */
export function startTimetable(
  app: JobDependencies,
  log: Log,
  timetable = periodicJobs(app),
): { stop(): Promise<void> } {
  const stopping = new AbortController()
  const { signal } = stopping
  setMaxListeners(timetable.length * 2, signal)
  const wait = (secs: number) =>
    delay(secs * 1000, undefined, { signal, ref: false }).catch(() => {
      /* The server stops. */
    })
  const runPeriodically = async ({ name, everySecs, firstAfterSecs, duty, run }: Job) => {
    if (firstAfterSecs !== undefined) await wait(firstAfterSecs)
    while (!signal.aborted) {
      if (duty && !app.membership.has(duty)) {
        await wait(dutySecs)
        continue
      }
      const startedAtMs = performance.now()
      await run(signal).then(
        () => {
          const ms = Math.round(performance.now() - startedAtMs)
          if (ms >= slowMs) log('info', `A periodic job was slow: ${name}.`, { ms })
        },
        (error: unknown) => signal.aborted || logFailure(log, `A periodic job failed: ${name}.`, error),
      )
      await wait(everySecs)
    }
  }
  const running = timetable.map(runPeriodically)
  return {
    stop: async () => {
      stopping.abort()
      await Promise.all(running)
    },
  }
}
