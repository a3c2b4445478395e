import { logFailure, type Log } from '../config/log.ts'
import type { ServerConfig } from '../config/server.ts'
import { Problem } from '../contract/errors.ts'
import type { Semaphore } from '../async/semaphore.ts'
import type { Outbox } from '../events/outbox.ts'
import { withinStop } from '../process/reconciler.ts'
import { createTimer, type TimedWork } from './timer.ts'

/** The pause of a row after an unexpected error. */
const pauseMs = 30_000

/** Work on rows of the database, each of which is due at a time. Work on one row can take long, and other rows do not wait for it. */
export interface DueRows extends Pick<TimedWork, 'duty' | 'onClockSet'> {
  /** The IDs of rows that are due, except for the given ones. */
  listDue(now: string, without: readonly number[]): Promise<number[]>
  /** The time of the next due row, except for the given ones. Null if there is none. */
  nextAt(without: readonly number[]): Promise<string | null>
  /** Works on a row, and stores when it is due again. */
  run(id: number): Promise<void>
  /** The log message for an unexpected error of `run`, and the field of the row's ID. */
  failure: { message: string; idField: string }
}

export interface DueRowsRunner {
  start(log: Log): void
  /** Works on the rows that are due now. */
  wake(): void
  stop(): Promise<void>
}

/** Works on rows at their times, with a separate timer, so that slow work does not delay other timed work. */
export function createDueRowsRunner(
  { config, outbox }: { config: ServerConfig; outbox: Outbox },
  withSlot: Semaphore,
  { duty, onClockSet, listDue, nextAt, run, failure }: DueRows,
): DueRowsRunner {
  const running = new Map<number, Promise<void>>()
  const pausedUntilMs = new Map<number, number>()
  let log: Log = () => {}
  let isOver = false
  const listBusy = () => {
    for (const [id, untilMs] of pausedUntilMs) if (untilMs <= performance.now()) pausedUntilMs.delete(id)
    return [...running.keys(), ...pausedUntilMs.keys()]
  }
  const begin = (id: number) => {
    const work = withSlot(async () => {
      if (!isOver) await run(id)
    })
      .catch((error: unknown) => {
        pausedUntilMs.set(id, performance.now() + pauseMs)
        const isShutdown = error instanceof Problem && error.code === 'SHUTTING_DOWN'
        if (!isOver && !isShutdown) logFailure(log, failure.message, error, { [failure.idField]: id })
      })
      .finally(() => {
        running.delete(id)
        if (!isOver) void timer.reconcile()
      })
    running.set(id, work)
  }
  const timer = createTimer({ config, outbox }, [
    {
      duty,
      onClockSet,
      nextAt: () => nextAt(listBusy()),
      runDue: async () => {
        for (const id of await listDue(config.clock().toISOString(), listBusy())) begin(id)
      },
    },
  ])
  return {
    start: to => {
      log = to
      timer.take(duty, to)
    },
    wake: () => void timer.reconcile(),
    stop: async () => {
      isOver = true
      await timer.stop()
      await withinStop(Promise.all(running.values()))
    },
  }
}
