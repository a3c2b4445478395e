import { createKeyedQueue } from '../async/serialQueue.ts'
import { createSemaphore } from '../async/semaphore.ts'
import { logFailure, type Log } from '../config/log.ts'
import { Problem } from '../contract/errors.ts'
import type { Outbox } from '../events/outbox.ts'
import { ForgeFailed } from '../forge/forge.ts'
import { asProblem } from '../forge/openForge.ts'
import { withinStop } from '../process/reconciler.ts'
import { createTimer } from '../daemons/timer.ts'
import {
  hastenIssue,
  listDueSyncs,
  readNextSyncTime,
  readSyncState,
  writeSyncState,
} from '../store/cards/cardIssues.ts'
import type { Tally, IssueDependencies } from './issueDependencies.ts'
import { syncIssues, type SyncResult } from './syncIssues.ts'

/** The number of projects that are synchronized concurrently. */
const maxVisits = 8

/** Synchronizes cards with the issues of forges: periodically, after changes of cards, and when a forge reports a change. */
export interface Issues {
  start(log: Log): void
  /** Checks the projects that are due now. */
  wake(): void
  stop(): Promise<void>
  /** Synchronizes a project's issues now. @throws Problem FORGE_NOT_CONFIGURED, FORGE_REFUSED, FORGE_UNAVAILABLE */
  syncNow(projectId: number): Promise<Tally>
  /**
   * Called when the forge reports that an issue, or some issues, changed. The board does not trust the payload and queries the
   * forge instead.
   */
  noteDelivery(projectId: number, number?: number): Promise<void>
}

export function createIssues({ outbox, ...parts }: IssueDependencies & { outbox: Outbox }): Issues {
  const { db, config } = parts
  const inTurn = createKeyedQueue()
  const withSlot = createSemaphore(maxVisits)
  const visits = new Map<number, Promise<void>>()
  let log: Log | undefined
  let stopped = false
  const go = (projectId: number, asked: boolean): Promise<SyncResult | undefined> =>
    inTurn(String(projectId), () => withSlot(() => syncIssues(parts, projectId, asked)))
  const begin = (projectId: number) => {
    const ended = go(projectId, false)
      .then(visited => report(log!, projectId, visited))
      .catch((error: unknown) =>
        logFailure(log!, 'The issues of a project could not be looked at.', error, { projectId }),
      )
      .then(() => {
        visits.delete(projectId)
        if (!stopped) void timer.reconcile()
      })
    visits.set(projectId, ended)
  }
  // A separate timer, so that a slow forge does not delay other work.
  const timer = createTimer({ config, outbox }, [
    {
      duty: 'machine',
      nextAt: () => readNextSyncTime(db, [...visits.keys()]),
      runDue: async () => {
        for (const id of await listDueSyncs(db, config.clock().toISOString())) if (!visits.has(id)) begin(id)
      },
    },
  ])
  return {
    start: to => {
      log = to
      timer.take('machine', to)
    },
    wake: () => void timer.reconcile(),
    stop: async () => {
      stopped = true
      await timer.stop()
      await withinStop(Promise.all(visits.values()))
    },
    syncNow: async projectId => {
      const visited = await go(projectId, true)
      if (!visited) throw new Problem('FORGE_NOT_CONFIGURED', untied)
      if (visited.failure !== undefined) throw asProblem(visited.failure)
      return visited.tally
    },
    noteDelivery: async (projectId, number) => {
      await db.transaction(async tx => {
        if (number !== undefined && (await hastenIssue(tx, projectId, number))) return
        // A failing forge is not queried before its time, regardless of its deliveries.
        if (((await readSyncState(tx, projectId))?.failures ?? 0) === 0)
          await writeSyncState(tx, projectId, { nextAt: null })
      })
      if (log) void timer.reconcile()
    },
  }
}

const untied = 'The project does not create cards from issues. Set a label with board projects forge --issue-label.'

function report(log: Log, projectId: number, visited: SyncResult | undefined): void {
  const failure = visited?.failure
  if (failure === undefined) return
  const isTheirs = failure instanceof ForgeFailed || failure instanceof Problem
  if (isTheirs) log('warn', 'The issues of a project could not be looked at.', { projectId, cause: failure.message })
  else logFailure(log, 'The issues of a project could not be looked at.', failure, { projectId })
}
