import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { coalesce } from '../async/coalesce.ts'
import { throttle } from '../async/throttle.ts'
import { logFailure, type Log } from '../config/log.ts'

const retryMs = 1000
const stopTimeoutMs = 9000
/** The debounce of events: many events of a busy board cost one reconciliation. */
const debounceMs = 50

/** How the processes that a service starts reach the server, and the log of the service. */
export interface ServerAccess {
  url: string
  /** Accepts a connection to the board from inside a sandbox. */
  acceptForBoard(socket: Socket): void
  log: Log
}

/** The events that wake a reconciler. They start a run within `debounceMs`. */
export interface WakingEvents {
  outbox: { onAppended(listener: () => void): () => void }
  debounceMs?: number
}

/**
 * Runs a reconciliation on every wake-up, one at a time, between the start and the end of a server. A wake-up during a run causes
 * another run; a failed run is retried.
 */
export interface Reconciler<Access extends { log: Log } = ServerAccess> {
  /** Undefined before the start. */
  readonly server: Access | undefined
  readonly isOver: boolean
  start(server: Access): void
  wake(): void
  /** Resolves when no run is under way. */
  idle(): Promise<void>
  /** Starts no more runs. Resolves when none is under way. */
  end(): Promise<void>
  /** Ends, and stops work in progress. Takes at most 9 s. */
  stop<Work extends { over: Promise<unknown> }>(
    inProgress: ReadonlyMap<unknown, Work>,
    stopWork: (work: Work, reason: string) => void,
  ): Promise<void>
}

/** @param what the subject of log messages: "Sessions" */
export function createReconciler<Access extends { log: Log } = ServerAccess>(
  what: string,
  reconcile: () => Promise<void>,
  events?: WakingEvents,
): Reconciler<Access> {
  let server: Access | undefined
  let isOver = false
  let unsubscribe: (() => void) | undefined
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
  const end = () => {
    isOver = true
    unsubscribe?.()
    return idle()
  }
  return {
    get server() {
      return server
    },
    get isOver() {
      return isOver
    },
    wake,
    idle,
    start: to => {
      server = to
      unsubscribe ??= events?.outbox.onAppended(throttle(wake, events.debounceMs ?? debounceMs))
      wake()
    },
    end,
    stop: async (inProgress, stopWork) => {
      await end()
      for (const work of inProgress.values()) stopWork(work, 'The server was stopped.')
      await withinStop(Promise.all([...inProgress.values()].map(({ over }) => over)))
    },
  }
}

/** Waits for work to end during shutdown, at most 9 s. */
export const withinStop = (ended: Promise<unknown>): Promise<unknown> =>
  Promise.race([ended, delay(stopTimeoutMs, undefined, { ref: false })])
