import type { Log } from '../config/log.ts'
import { setTimeout as delay } from 'node:timers/promises'
import { failLost, type ScriptRuns } from '../domain/scripts.ts'
import { whileNews } from '../process/whileNews.ts'
import type { Database } from '../store/database.ts'
import { listOpenRuns } from '../store/scripts.ts'
import { startRun, type LiveRun, type RunParts } from './run.ts'

const mostStopMs = 9000

/** Runs scripts, each once at a time. */
export interface ScriptRunner extends ScriptRuns {
  /** By script what each run has printed by now. Of a run that ends, still what it printed last. */
  outputs(): Map<number, LiveRun['output']>
  /** Compares what runs here with what its rows say. */
  check(): void
  /** Takes up work: scripts reach the server at this address. */
  start(url: string, log: Log): void
  /** Ends every run as cancelled. Takes at most 9 s. */
  stop(): Promise<void>
}

/** What the rows of runs say is what it does: an open one runs, one with a reason is ended, and so is one without a row. */
export function createScriptRunner(db: Database): ScriptRunner {
  const running = new Map<number, LiveRun>()
  const state = { at: undefined as { url: string; log: Log } | undefined, isStopping: false }
  const inTurn = createTurns()
  const look = async () => {
    const open = new Map((await listOpenRuns(db)).map(run => [run.scriptId, run]))
    for (const live of running.values()) {
      const row = open.get(live.scriptId)
      if (!row) live.stop('The script is gone.')
      else if (row.error !== null) live.stop(row.error)
    }
    for (const row of open.values()) {
      if (running.has(row.scriptId) || state.isStopping) continue
      const live = startRun({ db, inTurn, ...state.at! }, row)
      running.set(row.scriptId, live)
      void live.over.then(() => {
        running.delete(row.scriptId)
        wake()
      })
    }
  }
  const { wake, atRest } = whileNews(look, error => state.at!.log('error', 'Scripts could not be looked at.', { cause: error instanceof Error ? error.stack : String(error) }), () => state.at !== undefined && !state.isStopping)

  return {
    look: tx => tx.afterCommit(wake),
    outputs: () => new Map([...running].map(([scriptId, live]) => [scriptId, live.output])),
    check: () => { if (running.size > 0) wake() },
    start: (url, log) => {
      state.at = { url, log }
      wake()
    },
    stop: async () => {
      state.isStopping = true
      await atRest()
      for (const live of running.values()) live.stop('The server was stopped.')
      await Promise.race([Promise.all([...running.values()].map(({ over }) => over)), delay(mostStopMs, undefined, { ref: false })])
    },
  }
}

/** Starting a process holds everything up for some milliseconds: many that are to start at once do so one after the other. */
function createTurns(): RunParts['inTurn'] {
  let last: Promise<unknown> = Promise.resolve()
  return work => {
    const done = last.then(work)
    last = done.catch(() => {}).then(() => new Promise(setImmediate))
    return done
  }
}

/** At the start of a server, when what an earlier one left running has been ended. */
export const recoverScripts = (db: Database): Promise<void> => db.transaction(failLost)
