import { failLost, type ScriptRuns } from '../domain/automation/scripts.ts'
import { createSerialQueue } from '../async/serialQueue.ts'
import { createReconciler, type ServerAccess } from '../process/reconciler.ts'
import type { ProcessTrees } from '../process/spawn.ts'
import type { Database } from '../store/engine/database.ts'
import { listOpenRuns } from '../store/automation/scripts.ts'
import { startRun, type LiveRun } from './run.ts'

/** Runs scripts. Each script has at most one run at a time. */
export interface ScriptRunner extends ScriptRuns {
  /** The output of each live run by script, including a run that is ending. */
  outputs(): Map<number, LiveRun['output']>
  /** Reconciles runs with their rows. */
  check(): void
  /** Starts to run scripts. */
  start(server: ServerAccess): void
  /** Ends every run as cancelled. Takes at most 9 s. */
  stop(): Promise<void>
}

/** Reconciles processes with the rows of open runs. A run whose row has an error or was deleted is stopped. */
export function createScriptRunner(db: Database, processTrees: ProcessTrees): ScriptRunner {
  const running = new Map<number, LiveRun>()
  // Starting a process blocks the event loop for some milliseconds, so requests are handled between two starts.
  const launchQueue = createSerialQueue(() => new Promise(setImmediate))
  const reconcile = async () => {
    const open = new Map((await listOpenRuns(db)).map(run => [run.scriptId, run]))
    for (const live of running.values()) {
      const row = open.get(live.scriptId)
      if (!row) live.stop('The script was deleted.')
      else if (row.error !== null) live.stop(row.error)
    }
    for (const row of open.values()) {
      if (running.has(row.scriptId) || reconciler.isOver) continue
      const live = startRun({ db, processTrees, launchQueue, ...reconciler.server! }, row)
      running.set(row.scriptId, live)
      void live.over.then(() => {
        running.delete(row.scriptId)
        reconciler.wake()
      })
    }
  }
  const reconciler = createReconciler('Scripts', reconcile)

  return {
    reconcile: tx => tx.afterCommit(reconciler.wake),
    start: reconciler.start,
    outputs: () => new Map([...running].map(([scriptId, live]) => [scriptId, live.output])),
    check: () => {
      if (running.size > 0) reconciler.wake()
    },
    stop: () => reconciler.stop(running, (live, reason) => live.stop(reason)),
  }
}

/** Marks the runs of an earlier server process as failed. Called at startup, after their processes were ended. */
export const recoverScripts = (db: Database): Promise<void> => db.transaction(failLost)
