import { setTimeout as delay } from 'node:timers/promises'
import { coalesce } from '../async/coalesce.ts'
import { logFailure, type Log } from '../config/log.ts'

const retryMs = 1000
const stopTimeoutMs = 9000

/**
 * Runs a reconciliation on every wake-up, one at a time, between the start and the end of a server. A wake-up during a run causes
 * another run; a failed run is retried.
 */
export interface Reconciler {
  /** Undefined before the start. */
  readonly server: { url: string; log: Log } | undefined
  readonly isOver: boolean
  start(url: string, log: Log): void
  wake(): void
  /** Resolves when no run is under way. */
  idle(): Promise<void>
  /** Starts no more runs. Resolves when none is under way. */
  end(): Promise<void>
}

/** @param what the subject of log messages: "Sessions" */
export function createReconciler(what: string, reconcile: () => Promise<void>): Reconciler {
  let server: Reconciler['server']
  let isOver = false
  let last = Promise.resolve()
  const run = coalesce(() =>
    reconcile().catch(error => {
      logFailure(server!.log, `${what} could not be reconciled; retrying.`, error)
      setTimeout(wake, retryMs).unref()
    }),
  )
  const wake = () => {
    if (server && !isOver) last = run()
  }
  const idle = () => last
  return {
    get server() {
      return server
    },
    get isOver() {
      return isOver
    },
    wake,
    idle,
    start: (url, log) => {
      server = { url, log }
      wake()
    },
    end: () => {
      isOver = true
      return idle()
    },
  }
}

/** Waits for work to end during shutdown, at most 9 s. */
export const withinStop = (ended: Promise<unknown>): Promise<unknown> =>
  Promise.race([ended, delay(stopTimeoutMs, undefined, { ref: false })])
