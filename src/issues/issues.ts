import { createKeyedQueue } from '../async/serialQueue.ts'
import { createSemaphore } from '../async/semaphore.ts'
import type { Log } from '../config/log.ts'
import { Problem } from '../contract/errors.ts'
import type { Outbox } from '../events/outbox.ts'
import { ForgeFailed } from '../forge/forge.ts'
import { asProblem } from '../forge/openForge.ts'
import { createDueRowsRunner, type DueRowsRunner } from '../daemons/dueRows.ts'
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
const maxConcurrent = 8
const failureMessage = 'The issues of a project could not be synchronized.'

/** Synchronizes cards with the issues of forges: periodically, after changes of cards, and when a forge reports a change. */
export interface Issues extends DueRowsRunner {
  /** Synchronizes a project's issues now. @throws Problem FORGE_NOT_CONFIGURED, FORGE_REFUSED, FORGE_UNAVAILABLE */
  syncNow(projectId: number): Promise<Tally>
  /**
   * Called when the forge reports that an issue, or some issues, changed. The board does not trust the payload and queries the
   * forge instead.
   */
  noteDelivery(projectId: number, number?: number): Promise<void>
}

export function createIssues({ outbox, ...dependencies }: IssueDependencies & { outbox: Outbox }): Issues {
  const { db, config } = dependencies
  const inTurn = createKeyedQueue()
  const withSlot = createSemaphore(maxConcurrent)
  let log: Log = () => {}
  const sync = (projectId: number, isAsked: boolean): Promise<SyncResult | undefined> =>
    inTurn(String(projectId), () => syncIssues(dependencies, projectId, isAsked))
  const runner = createDueRowsRunner({ config, outbox }, withSlot, {
    duty: 'machine',
    nextAt: without => readNextSyncTime(db, without),
    listDue: (now, without) => listDueSyncs(db, now, without),
    run: async projectId => {
      const failure = (await sync(projectId, false))?.failure
      if (failure instanceof ForgeFailed || failure instanceof Problem)
        log('warn', failureMessage, { projectId, cause: failure.message })
      else if (failure !== undefined) throw failure
    },
    failure: { message: failureMessage, idField: 'projectId' },
  })
  return {
    ...runner,
    start: to => {
      log = to
      runner.start(to)
    },
    syncNow: async projectId => {
      const result = await withSlot(() => sync(projectId, true))
      if (!result) throw new Problem('FORGE_NOT_CONFIGURED', noLabel)
      if (result.failure !== undefined) throw asProblem(result.failure)
      return result.tally
    },
    noteDelivery: async (projectId, number) => {
      await db.transaction(async tx => {
        if (number !== undefined && (await hastenIssue(tx, projectId, number))) return
        // A failing forge is not queried before its time, regardless of its deliveries.
        if (((await readSyncState(tx, projectId))?.failures ?? 0) === 0)
          await writeSyncState(tx, projectId, { nextAt: null })
      })
      runner.wake()
    },
  }
}

const noLabel = 'The project does not create cards from issues. Set a label with board projects forge --issue-label.'
