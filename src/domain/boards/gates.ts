import { maxGates } from '../../contract/boards/gates.ts'
import { invalid, Problem } from '../../contract/errors.ts'
import type { ColumnType } from '../../contract/fields.ts'
import { appendEvent } from '../../events/outbox.ts'
import type { Reader, Transaction } from '../../store/engine/database.ts'
import {
  deleteGate,
  insertGate,
  listGates,
  readGate,
  setGatePosition,
  updateGate,
  type GateChange,
  type GateRow,
} from '../../store/boards/gates.ts'
import { gate as gateView } from '../../views/gates.ts'
import type { Caller } from '../accounts/caller.ts'
import { columnOfProject } from '../cards/cards.ts'
import { requireWholeOrder } from '../cards/order.ts'

export interface GateRef {
  projectId: number
  gateId: number
}

/** @throws Problem GATE_NOT_FOUND */
export async function find(db: Reader, { projectId, gateId }: GateRef): Promise<GateRow> {
  const gate = await readGate(db, gateId)
  if (gate?.projectId !== projectId) throw new Problem('GATE_NOT_FOUND')
  return gate
}

/**
 * Adds a gate at the end of a project's gates.
 * @throws Problem COLUMN_NOT_FOUND, COLUMN_IN_OTHER_PROJECT, VALIDATION_FAILED for a done or archive column, CONFLICT if there are too many
 */
export async function create(
  tx: Transaction,
  caller: Caller,
  projectId: number,
  gate: Pick<GateRow, 'name' | 'command' | 'columnId' | 'minutes'>,
): Promise<GateRow> {
  if ((await listGates(tx, projectId)).length >= maxGates)
    throw new Problem('CONFLICT', `A project can have at most ${maxGates} gates.`)
  await requireWorkColumn(tx, { projectId, caller }, gate.columnId)
  const created = await find(tx, { projectId, gateId: await insertGate(tx, { ...gate, projectId }) })
  await appendEvent(tx, 'gate.created', projectId, gateView(created))
  return created
}

/** Changes a gate. @throws Problem GATE_NOT_FOUND, and as `create` */
export async function update(tx: Transaction, caller: Caller, ref: GateRef, change: GateChange): Promise<GateRow> {
  const gate = await find(tx, ref)
  if (Object.values(change).every(value => value === undefined)) return gate
  const { projectId } = ref
  if (change.columnId !== undefined) await requireWorkColumn(tx, { projectId, caller }, change.columnId)
  const { name = gate.name, command = gate.command, columnId = gate.columnId, minutes = gate.minutes } = change
  updateGate(tx, gate.id, { name, command, columnId, minutes })
  return announceUpdate(tx, ref)
}

/** Deletes a gate with its proofs. @throws Problem GATE_NOT_FOUND */
export async function remove(tx: Transaction, ref: GateRef): Promise<void> {
  const { id } = await find(tx, ref)
  deleteGate(tx, id)
  await appendEvent(tx, 'gate.deleted', ref.projectId, { id: String(id) })
}

/** Reorders a project's gates. @throws Problem INVALID_ORDER */
export async function reorder(tx: Transaction, projectId: number, ids: readonly number[]): Promise<GateRow[]> {
  requireWholeOrder(ids, await listGates(tx, projectId))
  for (const [position, id] of ids.entries()) {
    setGatePosition(tx, id, position)
    await announceUpdate(tx, { projectId, gateId: id })
  }
  return listGates(tx, projectId)
}

async function announceUpdate(tx: Transaction, ref: GateRef): Promise<GateRow> {
  const updated = await find(tx, ref)
  await appendEvent(tx, 'gate.updated', ref.projectId, gateView(updated))
  return updated
}

/** Whether a column can have gates. A card ends in a done or archive column, so a gate there would have no effect. */
export const isWorkColumn = ({ columnType }: { columnType: ColumnType }): boolean =>
  columnType !== 'done' && columnType !== 'archive'
export const workColumnRule = 'must not be a done or archive column, because cards end there'

/** @throws Problem COLUMN_NOT_FOUND, COLUMN_IN_OTHER_PROJECT, VALIDATION_FAILED */
async function requireWorkColumn(
  tx: Transaction,
  ref: { projectId: number; caller: Caller },
  columnId: number | null,
): Promise<void> {
  if (columnId === null) return
  if (!isWorkColumn(await columnOfProject(tx, ref, columnId))) throw invalid('columnId', workColumnRule)
}
