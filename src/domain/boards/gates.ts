import { maxGates, type ApproverRole, type GateKind } from '../../contract/boards/gates.ts'
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
  type GateRow,
} from '../../store/boards/gates.ts'
import { listPeopleOf } from '../../store/cards/cardPeople.ts'
import { gate as gateView } from '../../views/gates.ts'
import type { Caller } from '../accounts/caller.ts'
import { changedChoice, noChoice, type KnownAgents } from '../agents/agentChoice.ts'
import { columnOfProject } from '../cards/cards.ts'
import { notInProject } from '../cards/cardPeople.ts'
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

/** The fields of a gate that depend on its kind, as a client specifies them. */
interface KindFields {
  command?: string
  minutes?: number
  approvals?: number
  approverRole?: ApproverRole
  approverIds?: readonly number[]
  agent?: string | null
  profile?: string | null
  prompt?: string
}
const defaultMinutes = 30
const fieldsOf: Record<GateKind, ReadonlyArray<keyof KindFields>> = {
  command: ['command', 'minutes'],
  approval: ['approvals', 'approverRole', 'approverIds'],
  review: ['agent', 'profile', 'prompt', 'minutes'],
}
/** The stored fields that depend on the kind. Those of another kind are null. */
type StoredKindFields = Pick<
  GateRow,
  'command' | 'minutes' | 'approvals' | 'approverRole' | 'approverIds' | 'agent' | 'profile' | 'prompt'
>
const noFields: StoredKindFields = {
  command: null,
  minutes: null,
  approvals: null,
  approverRole: null,
  approverIds: null,
  agent: null,
  profile: null,
  prompt: null,
}

/**
 * Adds a gate at the end of a project's gates.
 * @throws Problem COLUMN_NOT_FOUND, COLUMN_IN_OTHER_PROJECT, CONFLICT if there are too many; VALIDATION_FAILED for a done or archive column,
 * a field of another kind, a missing command, an unknown agent, and approvers who do not belong to the project
 */
export async function create(
  tx: Transaction,
  agents: KnownAgents,
  caller: Caller,
  projectId: number,
  { kind, name, columnId, ...given }: Pick<GateRow, 'kind' | 'name' | 'columnId'> & KindFields,
): Promise<GateRow> {
  if ((await listGates(tx, projectId)).length >= maxGates)
    throw new Problem('CONFLICT', `A project can have at most ${maxGates} gates.`)
  await requireWorkColumn(tx, { projectId, caller }, columnId)
  const fields = await fieldsOfKind(tx, agents, { projectId, kind, given })
  const gateId = await insertGate(tx, { projectId, kind, name, columnId, ...fields })
  const created = await find(tx, { projectId, gateId })
  await appendEvent(tx, 'gate.created', projectId, gateView(created))
  return created
}

/** Changes a gate. @throws Problem GATE_NOT_FOUND, and as `create` */
export async function update(
  tx: Transaction,
  agents: KnownAgents,
  caller: Caller,
  ref: GateRef,
  { name, columnId, ...given }: Partial<Pick<GateRow, 'name' | 'columnId'>> & KindFields,
): Promise<GateRow> {
  const gate = await find(tx, ref)
  if (Object.values({ name, columnId, ...given }).every(value => value === undefined)) return gate
  const { projectId } = ref
  if (columnId !== undefined) await requireWorkColumn(tx, { projectId, caller }, columnId)
  const fields = await fieldsOfKind(tx, agents, { projectId, kind: gate.kind, given, before: gate })
  updateGate(tx, gate.id, {
    name: name ?? gate.name,
    columnId: columnId === undefined ? gate.columnId : columnId,
    ...fields,
  })
  return announceUpdate(tx, ref)
}

/** A gate as a client specifies it, and the gate before the change. */
interface KindInput {
  projectId: number
  kind: GateKind
  given: KindFields
  before?: GateRow
}

/** The stored fields of a gate's kind: those that are specified, or else those of `before`, or else the defaults. */
async function fieldsOfKind(tx: Transaction, agents: KnownAgents, input: KindInput): Promise<StoredKindFields> {
  const { kind, given, before } = input
  for (const field of Object.keys(given) as Array<keyof KindFields>)
    if (given[field] !== undefined && !fieldsOf[kind].includes(field))
      throw invalid(field, `must be omitted for a gate of kind ${kind}`)
  if (kind === 'approval') return { ...noFields, ...(await approvalFields(tx, input)) }
  const minutes = given.minutes ?? before?.minutes ?? defaultMinutes
  if (kind === 'review') return { ...noFields, minutes, ...(await reviewFields(tx, agents, input)) }
  const command = given.command ?? before?.command
  if (!command) throw invalid('command', 'is required')
  return { ...noFields, minutes, command }
}

async function approvalFields(tx: Transaction, { projectId, given, before }: KindInput) {
  const approvals = given.approvals ?? before?.approvals ?? 1
  const approverIds = given.approverIds ?? approverIdsOf(before)
  if (given.approverIds) await requirePeople(tx, projectId, given.approverIds)
  if (approverIds.length > 0 && approvals > approverIds.length)
    throw invalid('approvals', `must be at most ${approverIds.length}, the number of approvers`)
  const approverRole = given.approverRole ?? before?.approverRole ?? 'member'
  return { approvals, approverRole, approverIds: JSON.stringify(approverIds) }
}

async function reviewFields(tx: Transaction, agents: KnownAgents, { given, before }: KindInput) {
  const { agent, profile, prompt } = { ...noFields, ...before }
  const own = { ...noChoice, agent, profile }
  const changed = await changedChoice(tx, agents, { agent: given.agent, profile: given.profile }, async () => [own])
  const choice = { ...own, ...changed }
  return { agent: choice.agent, profile: choice.profile, prompt: given.prompt ?? prompt ?? '' }
}

/** The accounts that can approve. If empty, everyone with the role. */
export const approverIdsOf = (gate: Pick<GateRow, 'approverIds'> | undefined): number[] =>
  JSON.parse(gate?.approverIds ?? '[]') as number[]

async function requirePeople(tx: Transaction, projectId: number, ids: readonly number[]): Promise<void> {
  const people = await listPeopleOf(tx, projectId, ids)
  for (const [at, id] of ids.entries())
    if (!people.some(({ userId }) => userId === id)) throw invalid(`approverIds.${at}`, notInProject(id))
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
