import type { Reader, Transaction } from '../engine/database.ts'
import { defineRecord, id, number, text, type Change, type Row } from '../engine/record.ts'

export const scriptFields = {
  id: id(),
  projectId: id(),
  name: text(),
  command: text(),
  position: number(),
  createdAt: text().initiallyNow(),
  updatedAt: text().initiallyNow(),
}
export type ScriptRow = Row<typeof scriptFields>
type RunStatus = 'running' | 'succeeded' | 'failed' | 'cancelled'
/**
 * The latest run of a script. `idle` and empty if it never ran. `output` is the end of its output, `outputStart` the number of
 * characters before it.
 */
export interface ScriptRunRow {
  scriptId: number
  projectId: number
  status: RunStatus | 'idle'
  pid: number | null
  exitCode: number | null
  error: string | null
  startedAt: string | null
  finishedAt: string | null
  output: string
  outputStart: number
}
/** An open run. A run with an `error` is being ended. */
export interface OpenRun {
  scriptId: number
  projectId: number
  command: string
  path: string
  error: string | null
}
export type RunEnd = Pick<ScriptRunRow, 'exitCode' | 'error' | 'output' | 'outputStart'> & {
  status: Exclude<RunStatus, 'running'>
}

const record = defineRecord('scripts', 's', scriptFields)
const fields = record.columns
const runFields = `s.id AS scriptId, s.project_id AS projectId, coalesce(r.status, 'idle') AS status, r.pid, r.exit_code AS exitCode, r.error, r.started_at AS startedAt, r.finished_at AS finishedAt,
  coalesce(r.output, '') AS output, coalesce(r.output_start, 0) AS outputStart FROM scripts s LEFT JOIN script_runs r ON r.script_id = s.id`

export const listScripts = (db: Reader, projectId: number): Promise<ScriptRow[]> =>
  db.all(`SELECT ${fields} FROM scripts s WHERE project_id = ? ORDER BY position`, [projectId])
export const readScript = (db: Reader, id: number): Promise<ScriptRow | undefined> =>
  db.get(`SELECT ${fields} FROM scripts s WHERE id = ?`, [id])

/** Adds a script at the end of its project's scripts. */
export const insertScript = async (
  tx: Transaction,
  script: Pick<ScriptRow, 'projectId' | 'name' | 'command'>,
): Promise<number> => record.insert(tx, { ...script, position: await endOfProject(tx, script.projectId) })
const endOfProject = async (db: Reader, projectId: number): Promise<number> =>
  (await db.get<{ end: number }>('SELECT coalesce(max(position) + 1, 0) AS end FROM scripts WHERE project_id = ?', [
    projectId,
  ]))!.end

export const updateScript = async (
  tx: Transaction,
  id: number,
  change: Pick<Change<typeof scriptFields>, 'name' | 'command'>,
): Promise<void> => record.update(tx, id, change)
/** Moves a script. The script's time of change is unchanged. */
export const setScriptPosition = async (tx: Transaction, id: number, position: number): Promise<void> => {
  tx.enqueue('UPDATE scripts SET position = ? WHERE id = ?', [position, id])
}

/** Deletes a script with its run, and renumbers those behind it. */
export async function deleteScript(tx: Transaction, { id, projectId, position }: ScriptRow): Promise<void> {
  tx.enqueue('DELETE FROM scripts WHERE id = ?', [id])
  tx.enqueue('UPDATE scripts SET position = position - 1 WHERE project_id = ? AND position > ?', [projectId, position])
}

/** The latest run of each script of a project, in the order of the scripts. */
export const listRuns = (db: Reader, projectId: number): Promise<ScriptRunRow[]> =>
  db.all(`SELECT ${runFields} WHERE s.project_id = ? ORDER BY s.position`, [projectId])
export const readRun = (db: Reader, scriptId: number): Promise<ScriptRunRow | undefined> =>
  db.get(`SELECT ${runFields} WHERE s.id = ?`, [scriptId])

/** All open runs of the server, in no order. */
export const listOpenRuns = (db: Reader): Promise<OpenRun[]> =>
  db.all(
    'SELECT r.script_id AS scriptId, s.project_id AS projectId, s.command, p.path, r.error FROM script_runs r INDEXED BY script_runs_open JOIN scripts s ON s.id = r.script_id JOIN projects p ON p.id = s.project_id WHERE r.finished_at IS NULL AND p.host IS ?',
    [db.host],
  )

/** Begins a run, replacing the previous one. */
export const insertRun = async (tx: Transaction, scriptId: number): Promise<void> => {
  tx.enqueue("INSERT OR REPLACE INTO script_runs (script_id, status, started_at) VALUES (?, 'running', ?)", [
    scriptId,
    tx.now,
  ])
}

const ofOpen = 'WHERE script_id = ? AND finished_at IS NULL'
export const setRunPid = async (tx: Transaction, scriptId: number, pid: number): Promise<void> => {
  tx.enqueue(`UPDATE script_runs SET pid = ? ${ofOpen}`, [pid, scriptId])
}
export const setRunOutput = async (
  tx: Transaction,
  scriptId: number,
  { output, outputStart }: Pick<RunEnd, 'output' | 'outputStart'>,
): Promise<void> => {
  tx.enqueue(`UPDATE script_runs SET output = ?, output_start = ? ${ofOpen}`, [output, outputStart, scriptId])
}
/** Records the reason to stop a run. The script runner then stops it. */
export const setRunError = async (tx: Transaction, scriptId: number, error: string): Promise<void> => {
  tx.enqueue(`UPDATE script_runs SET error = ? ${ofOpen}`, [error, scriptId])
}

/** Ends a run, and returns whether it was open. */
export const endRun = async (
  tx: Transaction,
  scriptId: number,
  { status, exitCode, error, output, outputStart }: RunEnd,
): Promise<boolean> =>
  (
    await tx.run(
      `UPDATE script_runs SET status = ?, exit_code = ?, error = ?, output = ?, output_start = ?, finished_at = ? ${ofOpen}`,
      [status, exitCode, error, output, outputStart, tx.now, scriptId],
    )
  ).changes === 1
