import type { AgentChoice } from '../contract/agentChoice.ts'
import { invalid, Problem } from '../contract/errors.ts'
import type { ColumnType } from '../contract/fields.ts'
import { append } from '../events/outbox.ts'
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
} from '../store/columns.ts'
import { readCredentialOfProject } from '../store/credentials.ts'
import type { Reader, Transaction } from '../store/database.ts'
import { changedChoice, noChoice, projectLevels } from './agentChoice.ts'
import { column as columnView } from '../views/boards.ts'
import * as boards from './boards.ts'
import { requireWholeOrder } from './order.ts'

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

/** Creates a column at the end of a board. @throws Problem BOARD_NOT_FOUND */
export async function create(
  tx: Transaction,
  projectId: number,
  column: { boardId: number; name: string; columnType: ColumnType; prompt: string } & Partial<AgentChoice>,
): Promise<CountedColumn> {
  const board = await boards.find(tx, projectId, column.boardId)
  const { name, columnType, prompt, boardId: _, ...choice } = column
  const chosen = await changedInProject(tx, projectId, choice, noChoice)
  const id = await insertColumn(tx, { name, columnType, prompt, ...chosen, boardId: board.id, projectId })
  return announce(tx, 'column.created', projectId, id)
}

/** Changes a column's name, prompt or choice of agent. @throws Problem COLUMN_NOT_FOUND */
export async function update(
  tx: Transaction,
  projectId: number,
  columnId: number,
  change: { name?: string; prompt?: string } & Partial<AgentChoice>,
): Promise<CountedColumn> {
  const column = await find(tx, projectId, columnId)
  if (Object.values(change).every(value => value === undefined)) return column
  await updateColumn(tx, columnId, {
    name: change.name ?? column.name,
    prompt: change.prompt ?? column.prompt,
    ...(await changedInProject(tx, projectId, change, column)),
  })
  return announce(tx, 'column.updated', projectId, columnId)
}

const changedInProject = (
  tx: Transaction,
  projectId: number,
  change: Partial<AgentChoice>,
  before: AgentChoice,
): Promise<Partial<AgentChoice>> =>
  changedChoice(
    tx,
    change,
    async () => [before, ...(await projectLevels(tx, projectId))],
    id => readCredentialOfProject(tx, projectId, id),
  )

/**
 * Deletes a column without cards. Its archived cards move to another column of the project. @throws Problem
 * COLUMN_NOT_FOUND, COLUMN_NOT_EMPTY
 */
export async function remove(tx: Transaction, projectId: number, columnId: number): Promise<void> {
  const column = await find(tx, projectId, columnId)
  if (column.cardCount > 0) throw new Problem('COLUMN_NOT_EMPTY')
  if (await hasCardsOutOfOrder(tx, columnId)) await adoptCardsOutOfOrder(tx, columnId, await otherColumn(tx, column))
  await deleteColumn(tx, column)
  await append(tx, 'column.deleted', projectId, { id: String(columnId), boardId: String(column.boardId) })
}

/** Puts the columns of one board in order. @throws Problem INVALID_ORDER, COLUMN_NOT_FOUND */
export async function reorder(tx: Transaction, projectId: number, ids: readonly number[]): Promise<CountedColumn[]> {
  if (ids.length === 0) throw invalid('ids', 'must not be empty')
  const { boardId } = await find(tx, projectId, ids[0]!)
  requireWholeOrder(ids, await listCountedColumns(tx, boardId))
  for (const [position, id] of ids.entries()) await setColumnPosition(tx, id, position)
  const columns = await listCountedColumns(tx, boardId)
  await append(tx, 'column.reordered', projectId, columns.map(columnView))
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
      'The column has archived or deleted cards, and the project has no other column for them.',
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
  await append(tx, type, projectId, columnView(column))
  return column
}
