import type { InferOutput } from 'valibot'
import type { Board } from '../contract/boards.ts'
import type { Column } from '../contract/columns.ts'
import type { ExternalBoard } from '../contract/external.ts'
import type { BoardRow } from '../store/boards.ts'
import type { ColumnRow, CountedColumn } from '../store/columns.ts'

export const board = (row: BoardRow): InferOutput<typeof Board> => ({
  id: String(row.id),
  name: row.name,
  projectId: String(row.projectId),
  position: row.position,
  createdAt: row.createdAt,
})

export const column = (row: CountedColumn): InferOutput<typeof Column> => ({
  id: String(row.id),
  name: row.name,
  columnType: row.columnType,
  position: row.position,
  boardId: String(row.boardId),
  prompt: row.prompt,
  agent: row.agent,
  cardCount: row.cardCount,
})

export const externalBoards = (
  boards: readonly BoardRow[],
  columns: readonly ColumnRow[],
): Array<InferOutput<typeof ExternalBoard>> =>
  boards.map(({ id, name }) => ({
    id,
    name,
    columns: columns
      .filter(({ boardId }) => boardId === id)
      .map(each => ({ id: each.id, name: each.name, columnType: each.columnType, position: each.position })),
  }))
