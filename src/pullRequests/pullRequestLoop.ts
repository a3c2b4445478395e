import { createSemaphore } from '../async/semaphore.ts'
import type { ServerConfig } from '../config/server.ts'
import { createDueRowsRunner, type DueRowsRunner } from '../daemons/dueRows.ts'
import type { Outbox } from '../events/outbox.ts'
import { bringReadsForward, listDuePullRequests, readNextReadTime } from '../store/forges/pullRequestReads.ts'
import { reconcilePullRequest } from './reconcilePullRequest.ts'
import type { LoopDependencies } from './loopDependencies.ts'

const maxConcurrent = 4
const pageSize = 100
/** A time further ahead means that the clock was set back. Forges never require a wait of more than an hour. */
const maxAheadMs = 2 * 3_600_000

export type PullRequestLoop = DueRowsRunner

/** Keeps the agents of this machine's cards working on their pull requests until the pull requests are merged. */
export const createPullRequestLoop = (
  dependencies: LoopDependencies,
  server: { config: ServerConfig; outbox: Outbox },
): PullRequestLoop =>
  createDueRowsRunner(server, createSemaphore(maxConcurrent), {
    duty: 'machine',
    nextAt: without => readNextReadTime(dependencies.db, without),
    listDue: (now, without) => listDuePullRequests(dependencies.db, now, without, pageSize),
    run: id => reconcilePullRequest(dependencies, id),
    onClockSet: () =>
      dependencies.db.transaction(async tx =>
        bringReadsForward(tx, new Date(Date.parse(tx.now) + maxAheadMs).toISOString(), tx.now),
      ),
    failure: { message: 'A pull request could not be checked.', idField: 'pullRequestId' },
  })
