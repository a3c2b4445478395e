import { createSemaphore } from '../async/semaphore.ts'
import { logFailure, type Log } from '../config/log.ts'
import type { ServerConfig } from '../config/server.ts'
import { Problem } from '../contract/errors.ts'
import type { Outbox } from '../events/outbox.ts'
import { withinStop } from '../process/reconciler.ts'
import { createTimer } from '../daemons/timer.ts'
import { bringRequestsForward, listDueRequests, readNextRequestTime } from '../store/forges/requestLoop.ts'
import { reconcilePullRequest } from './reconcilePullRequest.ts'
import type { LoopDependencies } from './loopDependencies.ts'

const maxAtOnce = 4
const pageSize = 100
/** A time further ahead means that the clock was set back. Forges never require a wait of more than an hour. */
const maxAheadMs = 2 * 3_600_000
/** The pause after an unexpected error. */
const restMs = 30_000

/** Keeps the agents of this machine's cards working on their pull requests until those are merged. */
export interface PullRequestLoop {
  start(log: Log): void
  /** Checks the pull requests that are due now. */
  wake(): void
  stop(): Promise<void>
}

export function createPullRequestLoop(
  parts: LoopDependencies,
  { config, outbox }: { config: ServerConfig; outbox: Outbox },
): PullRequestLoop {
  const { db } = parts
  const attending = new Map<number, Promise<void>>()
  const resting = new Map<number, number>()
  const withSlot = createSemaphore(maxAtOnce)
  let log: Log = () => {}
  let isOver = false
  const left = () => {
    for (const [id, untilMs] of resting) if (untilMs <= performance.now()) resting.delete(id)
    return [...attending.keys(), ...resting.keys()]
  }
  const begin = (id: number) => {
    const attended = withSlot(async () => {
      if (!isOver) await reconcilePullRequest(parts, id)
    })
      .catch((error: unknown) => {
        resting.set(id, performance.now() + restMs)
        const isElsewhere = error instanceof Problem && error.code === 'SHUTTING_DOWN'
        if (!isOver && !isElsewhere) logFailure(log, 'A pull request could not be looked after.', error)
      })
      .finally(() => {
        attending.delete(id)
        void timer.reconcile()
      })
    attending.set(id, attended)
  }
  const timer = createTimer({ config, outbox }, [
    {
      duty: 'machine',
      nextAt: () => readNextRequestTime(db, left()),
      runDue: async () => {
        for (const id of await listDueRequests(db, config.clock().toISOString(), left(), pageSize)) begin(id)
      },
      onClockSet: () =>
        db.transaction(async tx =>
          bringRequestsForward(tx, new Date(Date.parse(tx.now) + maxAheadMs).toISOString(), tx.now),
        ),
    },
  ])
  return {
    start: given => {
      log = given
      timer.take('machine', given)
    },
    wake: () => void timer.reconcile(),
    stop: async () => {
      isOver = true
      await timer.stop()
      await withinStop(Promise.all(attending.values()))
    },
  }
}
