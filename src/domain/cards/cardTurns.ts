import type { ColumnRow } from '../../store/boards/columns.ts'
import { listColumnsWithTurns, readFirstPullable, readFirstWaiting, type Turn } from '../../store/boards/columnTurns.ts'
import type { Reader } from '../../store/engine/database.ts'
import { hasRoom } from '../boards/columnLimits.ts'

/** The next card that the board moves automatically in a project, and its target column. Undefined if there is none. */
export async function findTurn(db: Reader, projectId: number): Promise<{ column: ColumnRow; turn: Turn } | undefined> {
  for (const column of await listColumnsWithTurns(db, projectId)) {
    const turn = await firstOf(db, column)
    if (turn) return { column, turn }
  }
  return undefined
}

/** The card that the board moves next into each column, by the column's ID. Undefined if no column receives cards automatically. */
export async function listTurns(db: Reader, projectId: number): Promise<Map<number, number> | undefined> {
  const columns = await listColumnsWithTurns(db, projectId)
  if (columns.length === 0) return undefined
  const turns = new Map<number, number>()
  for (const column of columns) {
    const turn = await firstOf(db, column)
    if (turn) turns.set(column.id, turn.cardId)
  }
  return turns
}

async function firstOf(db: Reader, column: ColumnRow): Promise<Turn | undefined> {
  if (!(await hasRoom(db, column))) return undefined
  const waiting = await readFirstWaiting(db, column.id)
  const pulled = column.pull === 1 ? await readFirstPullable(db, column) : undefined
  return !pulled || (waiting && isBefore(waiting, pulled)) ? waiting : pulled
}

const isBefore = (a: Turn, b: Turn): boolean =>
  a.columnPosition > b.columnPosition || (a.columnPosition === b.columnPosition && a.position < b.position)
