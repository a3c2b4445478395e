import type { AgentChoice } from '../../contract/agents/agentChoice.ts'
import { invalid, Problem } from '../../contract/errors.ts'
import type { ColumnType } from '../../contract/fields.ts'
import { appendEvent } from '../../events/outbox.ts'
import {
  adoptCardsOutOfOrder,
  deleteColumn,
  hasCardsOutOfOrder,
  insertColumn,
  listCountedColumns,
  listProjectColumns,
  readCountedColumn,
  setColumnPosition,
  updateColumn,
  type CountedColumn,
} from '../../store/boards/columns.ts'
import { isPulledFrom } from '../../store/boards/columnTurns.ts'
import { isBoardGated, isGated } from '../../store/boards/gates.ts'
import { readCredentialOfProject } from '../../store/accounts/credentials.ts'
import type { Reader, Transaction } from '../../store/engine/database.ts'
import { changedChoice, noChoice, projectLevels, type KnownAgents } from '../agents/agentChoice.ts'
import { column as columnView } from '../../views/boards.ts'
import { requireMaySkipGates } from '../accounts/access.ts'
import * as boards from './boards.ts'
import type { Caller } from '../accounts/caller.ts'
import { columnOfProject } from '../cards/cards.ts'
import { requireSoundLimit } from './columnLimits.ts'
import { requireWholeOrder } from '../cards/order.ts'
import { mayStart, requireMayStart, requireNoNewTurn } from '../cards/startPermission.ts'

/** @throws Problem COLUMN_NOT_FOUND */
async function find(db: Reader, projectId: number, columnId: number): Promise<CountedColumn> {
  const column = await readCountedColumn(db, columnId)
  if (column?.projectId !== projectId) throw new Problem('COLUMN_NOT_FOUND')
  return column
}

/** The columns of one board, or of all boards of the project, in order. @throws Problem BOARD_NOT_FOUND */
export async function list(db: Reader, projectId: number, boardId?: number): Promise<CountedColumn[]> {
  return boardId === undefined
    ? listProjectColumns(db, projectId)
    : listCountedColumns(db, (await boards.find(db, projectId, boardId)).id)
}

/** A limit on a column's cards, and whether the column pulls cards automatically up to it. */
interface Limit {
  wipLimit: number | null
  pull: boolean
}

/** The target column of a card when its pull request is merged, or closed. */
interface AfterRequests {
  mergedColumnId?: number | null
  closedColumnId?: number | null
}

/** @throws Problem COLUMN_NOT_FOUND, COLUMN_IN_OTHER_PROJECT, VALIDATION_FAILED for an active column or one of another board */
async function requireReachable(
  db: Reader,
  ref: { projectId: number; caller: Caller },
  from: { id?: number; boardId: number },
  ways: AfterRequests,
): Promise<void> {
  for (const [path, id] of Object.entries(ways)) {
    if (id === null || id === undefined) continue
    const column = await columnOfProject(db, ref, id)
    if (column.boardId !== from.boardId || column.id === from.id)
      throw invalid(path, 'must be another column of the same board')
    if (column.columnType === 'active')
      throw invalid(path, 'must not be an active column, because the card would start again there')
    // From such a column, the next column starts the card again.
    if (!mayStart(ref.caller, 'kanban') && (await isPulledFrom(db, id))) requireMayStart(ref.caller, 'kanban')
  }
}

/**
 * Creates a column at the end of a board.
 * @throws Problem BOARD_NOT_FOUND, VALIDATION_FAILED for a column that pulls without a limit, INSUFFICIENT_PERMISSIONS for a column that
 * pulls, or an active one with a prompt or a choice of agent, if the caller cannot start agents
 */
export async function create(
  tx: Transaction,
  agents: KnownAgents,
  caller: Caller,
  projectId: number,
  column: { boardId: number; name: string; columnType: ColumnType; prompt: string } & Limit &
    AfterRequests &
    Partial<AgentChoice>,
): Promise<CountedColumn> {
  const board = await boards.find(tx, projectId, column.boardId)
  const { name, columnType, prompt, wipLimit, pull, mergedColumnId, closedColumnId, boardId: _, ...choice } = column
  requireSoundLimit(column)
  if (pull || (columnType === 'active' && (prompt !== '' || namesAny(choice)))) requireMayStart(caller, 'kanban')
  await requireReachable(tx, { projectId, caller }, { boardId: board.id }, { mergedColumnId, closedColumnId })
  const chosen = await changedInProject(tx, agents, projectId, choice, noChoice)
  const id = await insertColumn(tx, {
    name,
    columnType,
    prompt,
    wipLimit,
    pull,
    mergedColumnId,
    closedColumnId,
    ...chosen,
    boardId: board.id,
    projectId,
  })
  return announce(tx, 'column.created', projectId, id)
}

const namesAny = (fields: object): boolean => Object.values(fields).some(value => value !== undefined && value !== null)

/**
 * Changes a column's name, prompt, limit or choice of agent. These require the permission to start agents: the prompt and the
 * agent of an active column or one that pulls, pulling, the limit of a column that pulls, and a limit that gives a waiting card
 * its place.
 * @throws Problem COLUMN_NOT_FOUND and as `create`
 */
export async function update(
  tx: Transaction,
  agents: KnownAgents,
  caller: Caller,
  projectId: number,
  columnId: number,
  {
    wipLimit,
    pull,
    mergedColumnId,
    closedColumnId,
    ...change
  }: { name?: string; prompt?: string } & Partial<Limit> & AfterRequests & Partial<AgentChoice>,
): Promise<CountedColumn> {
  const column = await find(tx, projectId, columnId)
  const limit = { wipLimit: wipLimit === undefined ? column.wipLimit : wipLimit, pull: pull ?? column.pull === 1 }
  const isLimitChanged = limit.wipLimit !== column.wipLimit || Number(limit.pull) !== column.pull
  if (isLimitChanged) requireSoundLimit({ ...limit, columnType: column.columnType })
  const { name: _, ...task } = change
  const isTaskChanged = Object.values(task).some(value => value !== undefined)
  if ((isLimitChanged && limit.pull) || (isTaskChanged && (column.columnType === 'active' || limit.pull)))
    requireMayStart(caller, 'kanban')
  const ways = { mergedColumnId, closedColumnId }
  await requireReachable(tx, { projectId, caller }, column, ways)
  if (!isLimitChanged && Object.values({ ...change, ...ways }).every(value => value === undefined)) return column
  const changed = {
    name: change.name ?? column.name,
    prompt: change.prompt ?? column.prompt,
    ...limit,
    mergedColumnId: mergedColumnId === undefined ? column.mergedColumnId : mergedColumnId,
    closedColumnId: closedColumnId === undefined ? column.closedColumnId : closedColumnId,
    ...(await changedInProject(tx, agents, projectId, change, column)),
  }
  await (isLimitChanged
    ? requireNoNewTurn(tx, caller, projectId, () => updateColumn(tx, columnId, changed))
    : updateColumn(tx, columnId, changed))
  return announce(tx, 'column.updated', projectId, columnId)
}

const changedInProject = (
  tx: Transaction,
  agents: KnownAgents,
  projectId: number,
  change: Partial<AgentChoice>,
  before: AgentChoice,
): Promise<Partial<AgentChoice>> =>
  changedChoice(
    tx,
    agents,
    change,
    async () => [before, ...(await projectLevels(tx, projectId))],
    id => readCredentialOfProject(tx, projectId, id),
  )

/**
 * Deletes a column without cards, with its gates, which requires an admin of the project. Its archived cards move to another column of the
 * project. If the next column pulls, it then pulls from another one, which requires the permission to start agents.
 * @throws Problem COLUMN_NOT_FOUND, COLUMN_NOT_EMPTY, INSUFFICIENT_PERMISSIONS, FORBIDDEN
 */
export async function remove(tx: Transaction, caller: Caller, projectId: number, columnId: number): Promise<void> {
  const column = await find(tx, projectId, columnId)
  if (column.cardCount > 0) throw new Problem('COLUMN_NOT_EMPTY')
  if (!mayStart(caller, 'kanban') && (await isPulledFrom(tx, columnId))) requireMayStart(caller, 'kanban')
  if (await isGated(tx, columnId)) await requireMaySkipGates(tx, caller, projectId)
  if (await hasCardsOutOfOrder(tx, columnId)) await adoptCardsOutOfOrder(tx, columnId, await otherColumn(tx, column))
  await deleteColumn(tx, column)
  await appendEvent(tx, 'column.deleted', projectId, { id: String(columnId), boardId: String(column.boardId) })
}

/**
 * Reorders the columns of one board. If a column then pulls from another one, this requires the permission to start agents. If the board has
 * gates, it requires an admin of the project, because the order decides which gates a card passes.
 * @throws Problem INVALID_ORDER, COLUMN_NOT_FOUND, INSUFFICIENT_PERMISSIONS, FORBIDDEN
 */
export async function reorder(
  tx: Transaction,
  caller: Caller,
  projectId: number,
  ids: readonly number[],
): Promise<CountedColumn[]> {
  if (ids.length === 0) throw invalid('ids', 'must not be empty')
  const { boardId } = await find(tx, projectId, ids[0]!)
  const before = await listCountedColumns(tx, boardId)
  requireWholeOrder(ids, before)
  if (before.some(({ pull }) => pull === 1)) requireMayStart(caller, 'kanban')
  const isChanged = before.some(({ id }, at) => id !== ids[at])
  if (isChanged && (await isBoardGated(tx, boardId))) await requireMaySkipGates(tx, caller, projectId)
  for (const [position, id] of ids.entries()) await setColumnPosition(tx, id, position)
  const columns = await listCountedColumns(tx, boardId)
  await appendEvent(tx, 'column.reordered', projectId, columns.map(columnView))
  return columns
}

async function otherColumn(tx: Transaction, column: CountedColumn): Promise<CountedColumn> {
  const others = (await listProjectColumns(tx, column.projectId)).filter(
    ({ id, columnType }) => id !== column.id && columnType !== 'archive',
  )
  const other = others.find(({ boardId }) => boardId === column.boardId) ?? others[0]
  if (!other)
    throw new Problem(
      'COLUMN_NOT_EMPTY',
      'The column has archived or deleted cards, and the project has no other column for them. Create another column first.',
    )
  return other
}

async function announce(
  tx: Transaction,
  type: 'column.created' | 'column.updated',
  projectId: number,
  columnId: number,
): Promise<CountedColumn> {
  const column = await find(tx, projectId, columnId)
  await appendEvent(tx, type, projectId, columnView(column))
  return column
}
