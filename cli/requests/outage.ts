import { Option } from 'commander'
import { Failure } from '../failures/failure.ts'
import type { Out } from '../output/output.ts'
import { durationSecs } from '../parsing/arguments.ts'

const reminderMs = 60_000
const defaultLimitSecs = 15 * 60

/** An outage of the server during a wait: reported once and then every minute, until it has lasted too long. */
export interface Outage {
  /** Called when the server does not answer. */
  begin(): void
  /** Called when the server answers again. */
  end(): void
  /** Rejects with Failure (unreachable) once an outage reaches the limit. */
  readonly exceeded: Promise<never>
  stop(): void
}

/** The option of commands that wait for a result. */
export const reconnectOption = (): Option =>
  new Option('--reconnect <time>', 'maximum outage of the server; then the command exits with 7')
    .argParser(durationSecs)
    .default(defaultLimitSecs, '15m')

/** @param limitSecs undefined for a command that follows the server until Ctrl-C */
export function watchOutage(out: Out, limitSecs?: number): Outage {
  let startedAt: number | undefined
  let lastReportAt = -Infinity
  let isReported = false
  let timers: NodeJS.Timeout[] = []
  let reject: (error: Error) => void
  const exceeded = new Promise<never>((_, fail) => {
    reject = fail
  })
  exceeded.catch(() => {
    /* The code that races this promise reports the error. */
  })
  const stop = () => {
    for (const timer of timers) clearTimeout(timer)
    timers = []
    startedAt = undefined
  }
  const report = () => {
    const now = performance.now()
    // A connection that breaks repeatedly counts as one outage.
    if (now - lastReportAt < reminderMs - 1000) return
    const minutes = Math.round((now - startedAt!) / 60_000)
    out.done(
      minutes < 1
        ? 'The connection to the server was lost; connecting again ...'
        : `The server has not responded for ${minutes} min; connecting again ...`,
    )
    lastReportAt = now
    isReported = true
  }
  return {
    exceeded,
    stop,
    begin: () => {
      if (startedAt !== undefined) return
      startedAt = performance.now()
      report()
      timers = [setInterval(report, reminderMs).unref()]
      if (limitSecs !== undefined)
        timers.push(setTimeout(() => reject(timeoutFailure(limitSecs)), limitSecs * 1000).unref())
    },
    end: () => {
      if (startedAt === undefined) return
      stop()
      if (isReported) out.done('The server is responding again.')
      isReported = false
    },
  }
}

const timeoutFailure = (secs: number): Failure =>
  new Failure('unreachable', `the server did not respond for ${secs} s`, {
    hint: 'to wait longer: --reconnect 1h',
    see: 'board server status',
  })
