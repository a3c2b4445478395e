import { throttle } from '../async/throttle.ts'
import { createClockJumpCheck } from '../async/clockJump.ts'
import type { Log } from '../config/log.ts'
import type { ServerConfig } from '../config/server.ts'
import type { Duty } from './membership.ts'
import type { Outbox } from '../events/outbox.ts'
import { createReconciler } from '../process/reconciler.ts'

/** The debounce of events: many changes of a busy board cost one look at the next times. */
const debounceMs = 100
/** A timer of the machine stands still while it sleeps, and knows nothing of a clock that is set: the clock is looked at so often. */
const maxWaitMs = 30_000

/** Work that is due at times, which are rows of the database. */
export interface TimedWork {
  /** The lease without which another daemon does it. */
  duty: Duty
  /** Does all that is due. Each piece is claimed in the transaction that does it, so that it is done once. */
  runDue(): Promise<void>
  /** The next time at which something is due; null for never. */
  nextAt(): Promise<string | null>
  /** After the clock was set, and at the start. */
  onClockSet?(): Promise<void>
}

/** Does what is due by time. */
export interface Timer {
  /** Does the work of a duty from now on. */
  take(duty: Duty, log: Log): void
  /** Does what is due now. Resolves when it is done. */
  reconcile(): Promise<void>
  stop(): Promise<void>
}

/** One timer for everything that happens at a time: it sleeps until the next one, and looks again when something has changed. */
export function createTimer(
  { config, outbox }: { config: ServerConfig; outbox: Outbox },
  works: readonly TimedWork[],
): Timer {
  const duties = new Set<Duty>()
  let timer: NodeJS.Timeout | undefined
  let unsubscribe: (() => void) | undefined
  const taken = () => works.filter(({ duty }) => duties.has(duty))
  // An earlier server may have had another time.
  const unchecked = new Set(works)
  const checkClock = createClockJumpCheck(config, async () => {
    for (const work of works) unchecked.add(work)
  })
  const reconciler = createReconciler('What is due', async () => {
    clearTimeout(timer)
    await checkClock()
    for (const work of taken()) {
      if (unchecked.has(work)) await work.onClockSet?.()
      unchecked.delete(work)
      await work.runDue()
    }
    const next = (await Promise.all(taken().map(work => work.nextAt()))).filter(at => at !== null).sort()[0]
    const waitMs = next === undefined ? maxWaitMs : Date.parse(next) - config.clock().getTime()
    clearTimeout(timer)
    if (!reconciler.isOver) timer = setTimeout(reconciler.wake, Math.min(Math.max(waitMs, 0), maxWaitMs)).unref()
  })
  const look = throttle(reconciler.wake, debounceMs)
  return {
    take: (duty, log) => {
      duties.add(duty)
      unsubscribe ??= outbox.onAppended(look)
      reconciler.start('', log)
    },
    reconcile: () => {
      reconciler.wake()
      return reconciler.idle()
    },
    stop: async () => {
      unsubscribe?.()
      look.cancel()
      clearTimeout(timer)
      await reconciler.end()
    },
  }
}
