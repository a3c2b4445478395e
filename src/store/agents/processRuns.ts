import type { Reader, Transaction } from '../engine/database.ts'

/**
 * A process tree that a server started. `pid` is 0 until its start is recorded; `pidStartedAt` and `bootId`
 * distinguish it from a later process with that pid.
 */
export interface ProcessRunRow {
  runId: string
  kind: string
  pid: number
  pidStartedAt: string | null
  bootId: string | null
  startedAt: string
}

/** Records a run that is about to start. */
export const insertProcessRun = async (
  tx: Transaction,
  run: { runId: string; kind: string; bootId: string | null },
): Promise<void> => {
  tx.enqueue('INSERT INTO process_runs (run_id, kind, pid, boot_id, started_at, host) VALUES (?, ?, 0, ?, ?, ?)', [
    run.runId,
    run.kind,
    run.bootId,
    tx.now,
    tx.host,
  ])
}

export const setProcessRunPid = async (
  tx: Transaction,
  runId: string,
  pid: number,
  pidStartedAt: string | null,
): Promise<void> => {
  tx.enqueue('UPDATE process_runs SET pid = ?, pid_started_at = ? WHERE run_id = ?', [pid, pidStartedAt, runId])
}

export const deleteProcessRun = async (tx: Transaction, runId: string): Promise<void> => {
  tx.enqueue('DELETE FROM process_runs WHERE run_id = ?', [runId])
}

/** The runs of this machine. */
export const listProcessRuns = (db: Reader): Promise<ProcessRunRow[]> =>
  db.all(
    'SELECT run_id AS runId, kind, pid, pid_started_at AS pidStartedAt, boot_id AS bootId, started_at AS startedAt FROM process_runs WHERE host IS ? ORDER BY run_id',
    [db.host],
  )
