import type { Reader, Transaction } from './database.ts'

export interface ScriptRow {
  id: number
  projectId: number
  name: string
  command: string
  position: number
}
type RunStatus = 'running' | 'succeeded' | 'failed' | 'cancelled'
/** The latest run of a script; `idle` and empty where it never ran. `output` is the end of what it printed, `outputStart` how many characters came before that. */
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
/** A run without an end. With an `error` it is being ended. */
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

const fields = 'id, project_id AS projectId, name, command, position'
const runFields = `s.id AS scriptId, s.project_id AS projectId, coalesce(r.status, 'idle') AS status, r.pid, r.exit_code AS exitCode, r.error, r.started_at AS startedAt, r.finished_at AS finishedAt,
  coalesce(r.output, '') AS output, coalesce(r.output_start, 0) AS outputStart FROM scripts s LEFT JOIN script_runs r ON r.script_id = s.id`

export const listScripts = (db: Reader, projectId: number): Promise<ScriptRow[]> =>
  db.all(`SELECT ${fields} FROM scripts WHERE project_id = ? ORDER BY position`, [projectId])
export const readScript = (db: Reader, id: number): Promise<ScriptRow | undefined> =>
  db.get(`SELECT ${fields} FROM scripts WHERE id = ?`, [id])

/** Adds a script at the end of its project's. */
export const insertScript = async (
  tx: Transaction,
  script: Pick<ScriptRow, 'projectId' | 'name' | 'command'>,
): Promise<number> =>
  (
    await tx.run(
      'INSERT INTO scripts (project_id, name, command, position, created_at, updated_at) SELECT ?1, ?2, ?3, coalesce(max(position) + 1, 0), ?4, ?4 FROM scripts WHERE project_id = ?1',
      [script.projectId, script.name, script.command, tx.now],
    )
  ).lastId

export const updateScript = async (
  tx: Transaction,
  id: number,
  { name, command }: Pick<ScriptRow, 'name' | 'command'>,
): Promise<void> => {
  tx.enqueue('UPDATE scripts SET name = ?, command = ?, updated_at = ? WHERE id = ?', [name, command, tx.now, id])
}
export const setScriptPosition = async (tx: Transaction, id: number, position: number): Promise<void> => {
  tx.enqueue('UPDATE scripts SET position = ? WHERE id = ?', [position, id])
}

/** Deletes a script with its run; those behind it close up. */
export async function deleteScript(tx: Transaction, { id, projectId, position }: ScriptRow): Promise<void> {
  tx.enqueue('DELETE FROM scripts WHERE id = ?', [id])
  tx.enqueue('UPDATE scripts SET position = position - 1 WHERE project_id = ? AND position > ?', [projectId, position])
}

/** The latest run of each script of a project, in the order of the scripts. */
export const listRuns = (db: Reader, projectId: number): Promise<ScriptRunRow[]> =>
  db.all(`SELECT ${runFields} WHERE s.project_id = ? ORDER BY s.position`, [projectId])
export const readRun = (db: Reader, scriptId: number): Promise<ScriptRunRow | undefined> =>
  db.get(`SELECT ${runFields} WHERE s.id = ?`, [scriptId])

/** All runs of the server without an end, in no order. */
export const listOpenRuns = (db: Reader): Promise<OpenRun[]> =>
  db.all(
    'SELECT r.script_id AS scriptId, s.project_id AS projectId, s.command, p.path, r.error FROM script_runs r INDEXED BY script_runs_open JOIN scripts s ON s.id = r.script_id JOIN projects p ON p.id = s.project_id WHERE r.finished_at IS NULL AND p.host IS ?',
    [db.host],
  )

/** Begins a run in place of the one before. */
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
/** Notes why a run that goes on is to be ended. */
export const setRunError = async (tx: Transaction, scriptId: number, error: string): Promise<void> => {
  tx.enqueue(`UPDATE script_runs SET error = ? ${ofOpen}`, [error, scriptId])
}

/** Ends a run, and tells whether it was open. */
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
