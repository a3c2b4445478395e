import type { AgentChoice } from '../../contract/agents/agentChoice.ts'
import type { ColumnType } from '../../contract/fields.ts'
import { agentChoiceFields } from '../agents/agentChoiceFields.ts'
import type { Reader, Transaction, Value } from '../engine/database.ts'
import {
  defineRecord,
  entriesOf,
  flag,
  id,
  number,
  text,
  type Change,
  type NewRow,
  type Row,
} from '../engine/record.ts'

export const columnFields = {
  id: id(),
  name: text(),
  columnType: text<ColumnType>(),
  position: number(),
  boardId: id(),
  projectId: id(),
  prompt: text().initially(''),
  ...agentChoiceFields,
  /** The maximum number of cards in the column. Null if unlimited. */
  wipLimit: number().orNull(),
  /** Whether the column automatically pulls the next ready card from the previous column when there is capacity. */
  pull: flag().initially(false),
  /** The column to which a card moves when its pull request is merged, or closed. */
  mergedColumnId: id().orNull(),
  closedColumnId: id().orNull(),
  /** Read with the column, so that moves in projects without gates cost no further query. */
  projectHasGates: flag().computed('EXISTS (SELECT 1 FROM gates WHERE project_id = c.project_id)'),
}
/** The fields of a column, with the number of cards in its order. */
export const countedColumnFields = {
  ...columnFields,
  cardCount: number().computed('coalesce((SELECT sum(length) FROM column_nodes WHERE column_id = c.id), 0)'),
}
export type ColumnRow = Row<typeof columnFields>
export type CountedColumn = Row<typeof countedColumnFields>

const record = defineRecord('columns', 'c', countedColumnFields)
const fields = record.columnsOf(entriesOf({ entries: columnFields }))
const counted = record.columns

const column = `SELECT ${fields} FROM columns c WHERE c.id = ?`
const ofDefaultBoard = 'c.board_id = (SELECT id FROM boards WHERE project_id = ?1 ORDER BY position LIMIT 1)'
const defaultColumns = `SELECT ${fields} FROM columns c WHERE ${ofDefaultBoard} ORDER BY c.position`
const defaultColumn = `SELECT ${fields}, (SELECT json_group_array(id) FROM (SELECT id FROM columns WHERE board_id = c.board_id AND column_type = 'active' ORDER BY position)) AS activeColumns
  FROM columns c WHERE ${ofDefaultBoard} AND (?2 IS NULL OR c.id = ?2) ORDER BY c.position LIMIT 1`

export const readColumn = (db: Reader, id: number): Promise<ColumnRow | undefined> => db.get(column, [id])
/**
 * A column of the project's default board, which is its first by position: the given column, or the first one. Includes the IDs
 * of its board's active columns in order, as JSON: reading all of the board's columns takes three times as long.
 */
export const readDefaultColumn = (
  db: Reader,
  projectId: number,
  columnId?: number,
): Promise<(ColumnRow & { activeColumns: string }) | undefined> => db.get(defaultColumn, [projectId, columnId])
/** The columns of the project's default board. */
export const listDefaultColumns = (db: Reader, projectId: number): Promise<ColumnRow[]> =>
  db.all(defaultColumns, [projectId])
export const listColumns = (db: Reader, boardId: number): Promise<ColumnRow[]> =>
  db.all(`SELECT ${fields} FROM columns c WHERE c.board_id = ? ORDER BY c.position`, [boardId])
/** Lists the columns that match an SQL condition on `columns c`. */
export const listColumnsWhere = (db: Reader, where: string, args: readonly Value[]): Promise<ColumnRow[]> =>
  db.all(`SELECT ${fields} FROM columns c WHERE ${where}`, args)
export const readCountedColumn = (db: Reader, id: number): Promise<CountedColumn | undefined> =>
  db.get(`SELECT ${counted} FROM columns c WHERE c.id = ?`, [id])
export const listCountedColumns = (db: Reader, boardId: number): Promise<CountedColumn[]> =>
  db.all(`SELECT ${counted} FROM columns c WHERE c.board_id = ? ORDER BY c.position`, [boardId])
/** The columns of all boards of a project, board after board. */
export const listProjectColumns = (db: Reader, projectId: number): Promise<CountedColumn[]> =>
  db.all(
    `SELECT ${counted} FROM columns c JOIN boards b ON b.id = c.board_id WHERE c.project_id = ? ORDER BY b.position, c.position`,
    [projectId],
  )
/** The board's first column of a type, or its first column if no type is given. */
export const readFirstColumn = (db: Reader, boardId: number, columnType?: ColumnType): Promise<ColumnRow | undefined> =>
  db.get(
    `SELECT ${fields} FROM columns c WHERE c.board_id = ?1 AND (?2 IS NULL OR c.column_type = ?2) ORDER BY c.position LIMIT 1`,
    [boardId, columnType],
  )

/** Inserts a column at a position of its board; without one, at the end. */
export const insertColumn = async (
  tx: Transaction,
  column: Omit<NewRow<typeof columnFields>, 'position'> & { position?: number },
): Promise<number> =>
  record.insert(tx, { ...column, position: column.position ?? (await endOfBoard(tx, column.boardId)) })
const endOfBoard = async (db: Reader, boardId: number): Promise<number> =>
  (await db.get<{ end: number }>('SELECT coalesce(max(position) + 1, 0) AS end FROM columns WHERE board_id = ?', [
    boardId,
  ]))!.end

export const updateColumn = async (
  tx: Transaction,
  id: number,
  change: Pick<
    Change<typeof columnFields>,
    'name' | 'prompt' | 'wipLimit' | 'pull' | 'mergedColumnId' | 'closedColumnId' | keyof AgentChoice
  >,
): Promise<void> => record.update(tx, id, change)
export const setColumnPosition = async (tx: Transaction, id: number, position: number): Promise<void> => {
  tx.enqueue('UPDATE columns SET position = ? WHERE id = ?', [position, id])
}

/** Deletes an empty column, and renumbers the columns after it. */
export async function deleteColumn(tx: Transaction, column: ColumnRow): Promise<void> {
  await tx.run('DELETE FROM columns WHERE id = ?', [column.id])
  await tx.run('UPDATE columns SET position = position - 1 WHERE board_id = ? AND position > ?', [
    column.boardId,
    column.position,
  ])
}

/** Whether archived or deleted cards, which are in no column's order, still refer to the column. */
export const hasCardsOutOfOrder = async (db: Reader, id: number): Promise<boolean> =>
  (await db.get('SELECT 1 FROM cards WHERE column_id = ? AND leaf_id IS NULL LIMIT 1', [id])) !== undefined
/** Moves archived and deleted cards of a column to another column of the project. */
export const adoptCardsOutOfOrder = async (tx: Transaction, fromId: number, to: ColumnRow): Promise<void> => {
  await tx.run('UPDATE cards SET column_id = ?, board_id = ? WHERE column_id = ? AND leaf_id IS NULL', [
    to.id,
    to.boardId,
    fromId,
  ])
}
