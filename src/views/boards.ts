import type { InferOutput } from 'valibot'
import { Board } from '../contract/boards/boards.ts'
import { Column } from '../contract/boards/columns.ts'
import type { ExternalBoard } from '../contract/server/external.ts'
import { boardFields, type BoardRow } from '../store/boards/boards.ts'
import { countedColumnFields, type CountedColumn } from '../store/boards/columns.ts'
import { viewOf } from './view.ts'

export const board: (row: BoardRow) => InferOutput<typeof Board> = viewOf(boardFields, Board, 'text')

export const column: (row: CountedColumn) => InferOutput<typeof Column> = viewOf(countedColumnFields, Column, 'text')

export const externalBoards = (
  boards: readonly BoardRow[],
  columns: readonly CountedColumn[],
): Array<InferOutput<typeof ExternalBoard>> =>
  boards.map(({ id, name }) => ({
    id,
    name,
    columns: columns
      .filter(({ boardId }) => boardId === id)
      .map(({ id, name, columnType, position, wipLimit, cardCount }) => ({
        id,
        name,
        columnType,
        position,
        wipLimit,
        cardCount,
      })),
  }))
