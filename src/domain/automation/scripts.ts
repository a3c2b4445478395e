import { Problem } from '../../contract/errors.ts'
import { appendEvent } from '../../events/outbox.ts'
import type { Caller } from '../accounts/caller.ts'
import type { Reader, Transaction } from '../../store/engine/database.ts'
import {
  deleteScript,
  endRun,
  insertRun,
  insertScript,
  listOpenRuns,
  listRuns,
  listScripts,
  readRun,
  readScript,
  setRunError,
  setScriptPosition,
  updateScript,
  type RunEnd,
  type ScriptRow,
  type ScriptRunRow,
} from '../../store/automation/scripts.ts'
import { scriptEvent } from '../../views/scripts.ts'
import { requireWholeOrder } from '../cards/order.ts'

const maxScripts = 100

export interface ScriptRef {
  projectId: number
  scriptId: number
}
/** The runner functions that the rules of scripts use. */
export interface ScriptRuns {
  /** After the commit: reconciles processes with open runs. */
  reconcile(tx: Transaction): void
}

/** @throws Problem SCRIPT_NOT_FOUND */
async function find(db: Reader, { projectId, scriptId }: ScriptRef): Promise<ScriptRow> {
  const script = await readScript(db, scriptId)
  if (script?.projectId !== projectId) throw new Problem('SCRIPT_NOT_FOUND')
  return script
}

export const list = (db: Reader, projectId: number): Promise<ScriptRow[]> => listScripts(db, projectId)

/** Adds a shell command at the end of a project's scripts. @throws Problem CONFLICT if there are too many */
export async function create(
  tx: Transaction,
  projectId: number,
  { name, command }: Pick<ScriptRow, 'name' | 'command'>,
): Promise<ScriptRow> {
  if ((await listScripts(tx, projectId)).length >= maxScripts)
    throw new Problem('CONFLICT', `A project can have at most ${maxScripts} scripts.`)
  return find(tx, { projectId, scriptId: await insertScript(tx, { projectId, name, command }) })
}

/** Changes a script's name or command. A current run is not affected. @throws Problem SCRIPT_NOT_FOUND */
export async function update(
  tx: Transaction,
  ref: ScriptRef,
  { name, command }: Partial<Pick<ScriptRow, 'name' | 'command'>>,
): Promise<ScriptRow> {
  const script = await find(tx, ref)
  if (name !== undefined || command !== undefined)
    await updateScript(tx, script.id, { name: name ?? script.name, command: command ?? script.command })
  return find(tx, ref)
}

/** Deletes a script and ends its run. @throws Problem SCRIPT_NOT_FOUND */
export async function remove(tx: Transaction, runs: ScriptRuns, ref: ScriptRef): Promise<void> {
  const script = await find(tx, ref)
  const run = (await readRun(tx, script.id))!
  if (run.status === 'running')
    await finish(tx, script.id, { ...run, status: 'cancelled', error: 'The script was deleted.' })
  await deleteScript(tx, script)
  runs.reconcile(tx)
}

/** Reorders a project's scripts. @throws Problem INVALID_ORDER */
export async function reorder(tx: Transaction, projectId: number, ids: readonly number[]): Promise<ScriptRow[]> {
  requireWholeOrder(ids, await listScripts(tx, projectId))
  for (const [position, id] of ids.entries()) await setScriptPosition(tx, id, position)
  return listScripts(tx, projectId)
}

/** The latest run of each script of a project, or of one. @throws Problem SCRIPT_NOT_FOUND */
export async function statuses(db: Reader, projectId: number, scriptId?: number): Promise<ScriptRunRow[]> {
  return scriptId === undefined ? listRuns(db, projectId) : [await status(db, { projectId, scriptId })]
}

/** Starts a run. @throws Problem SCRIPT_NOT_FOUND, SCRIPT_ALREADY_RUNNING */
export async function run(tx: Transaction, runs: ScriptRuns, ref: ScriptRef): Promise<ScriptRunRow> {
  if ((await status(tx, ref)).status === 'running') throw new Problem('SCRIPT_ALREADY_RUNNING')
  await insertRun(tx, ref.scriptId)
  const begun = await status(tx, ref)
  await appendEvent(tx, 'script.started', ref.projectId, scriptEvent(begun))
  runs.reconcile(tx)
  return begun
}

/**
 * Requests the end of a run, which stays open until all its processes have exited. The first requester is recorded.
 * @throws Problem SCRIPT_NOT_FOUND, SCRIPT_NOT_RUNNING
 */
export async function cancel(
  tx: Transaction,
  runs: ScriptRuns,
  ref: ScriptRef,
  by: Pick<Caller, 'displayName' | 'email'>,
): Promise<ScriptRunRow> {
  const { status: present, error } = await status(tx, ref)
  if (present !== 'running') throw new Problem('SCRIPT_NOT_RUNNING')
  if (error === null)
    await setRunError(tx, ref.scriptId, `Cancelled by ${by.displayName || by.email || 'the operator'}.`)
  runs.reconcile(tx)
  return status(tx, ref)
}

/** Ends a run, if it is open. */
export async function finish(tx: Transaction, scriptId: number, end: RunEnd): Promise<void> {
  if (!(await endRun(tx, scriptId, end))) return
  const ended = (await readRun(tx, scriptId))!
  await appendEvent(tx, 'script.finished', ended.projectId, scriptEvent(ended))
}

/** Ends runs that were left open by an earlier server. */
export async function failLost(tx: Transaction): Promise<void> {
  for (const { scriptId } of await listOpenRuns(tx))
    await finish(tx, scriptId, {
      ...(await readRun(tx, scriptId))!,
      status: 'failed',
      error: 'The server stopped while it ran.',
    })
}

async function status(db: Reader, { projectId, scriptId }: ScriptRef): Promise<ScriptRunRow> {
  const found = await readRun(db, scriptId)
  if (found?.projectId !== projectId) throw new Problem('SCRIPT_NOT_FOUND')
  return found
}
