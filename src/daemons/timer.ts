import { createClockJumpCheck } from '../async/clockJump.ts'
import type { Log } from '../config/log.ts'
import type { ServerConfig } from '../config/server.ts'
import type { Duty } from './membership.ts'
import type { Outbox } from '../events/outbox.ts'
import { createReconciler } from '../process/reconciler.ts'

/** The debounce of events: many changes of a busy board cost one check of the next times. */
const debounceMs = 100
/**
 * The maximum sleep between two checks of the clock. A timer stops while the machine sleeps, and ignores changes of the clock.
 */
const maxWaitMs = 30_000

/** Work that is due at times, which are rows of the database. */
export interface TimedWork {
  /** The lease that is required for the work; without it, another daemon does the work. */
  duty: Duty
  /** Does all due work. Each item is claimed in the transaction that does it, so that it is done once. */
  runDue(): Promise<void>
  /** The time of the next due item. Null if there is none. */
  nextAt(): Promise<string | null>
  /** Called after the clock was set, and at the start. */
  onClockSet?(): Promise<void>
}

/** Runs work that is due at a time. */
export interface Timer {
  /** Starts the work of a duty. */
  take(duty: Duty, log: Log): void
  /** Does the work that is due now. Resolves when it is done. */
  reconcile(): Promise<void>
  stop(): Promise<void>
}

/** One timer for all timed work. It sleeps until the next time, and checks again after a change. */
export function createTimer(
  { config, outbox }: { config: ServerConfig; outbox: Outbox },
  works: readonly TimedWork[],
): Timer {
  const duties = new Set<Duty>()
  let timer: NodeJS.Timeout | undefined
  const startedWorks = () => works.filter(({ duty }) => duties.has(duty))
  // The clock might have changed since an earlier server ran.
  const unchecked = new Set(works)
  const checkClock = createClockJumpCheck(config, async () => {
    for (const work of works) unchecked.add(work)
  })
  const runDue = async () => {
    clearTimeout(timer)
    await checkClock()
    for (const work of startedWorks()) {
      if (unchecked.has(work)) await work.onClockSet?.()
      unchecked.delete(work)
      await work.runDue()
    }
    const next = (await Promise.all(startedWorks().map(work => work.nextAt()))).filter(at => at !== null).sort()[0]
    const waitMs = next === undefined ? maxWaitMs : Date.parse(next) - config.clock().getTime()
    clearTimeout(timer)
    if (!reconciler.isOver) timer = setTimeout(reconciler.wake, Math.min(Math.max(waitMs, 0), maxWaitMs)).unref()
  }
  const reconciler = createReconciler<{ log: Log }>('The due work', runDue, { outbox, debounceMs })
  return {
    take: (duty, log) => {
      duties.add(duty)
      reconciler.start({ log })
    },
    reconcile: () => {
      reconciler.wake()
      return reconciler.idle()
    },
    stop: async () => {
      clearTimeout(timer)
      await reconciler.end()
    },
  }
}
