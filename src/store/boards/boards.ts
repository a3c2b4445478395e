import type { Reader, Transaction } from '../engine/database.ts'
import { defineRecord, id, number, text, type NewRow, type Row } from '../engine/record.ts'

export const boardFields = {
  id: id(),
  name: text(),
  projectId: id(),
  position: number(),
  createdAt: text().initiallyNow(),
}
export type BoardRow = Row<typeof boardFields>

const record = defineRecord('boards', 'b', boardFields)
const fields = record.columns

export const readBoard = (db: Reader, projectId: number, id: number): Promise<BoardRow | undefined> =>
  db.get(`SELECT ${fields} FROM boards b WHERE id = ? AND project_id = ?`, [id, projectId])
export const listBoards = (db: Reader, projectId: number): Promise<BoardRow[]> =>
  db.all(`SELECT ${fields} FROM boards b WHERE project_id = ? ORDER BY position`, [projectId])
/** The default board: the project's first by position. */
export const readDefaultBoard = (db: Reader, projectId: number): Promise<BoardRow | undefined> =>
  db.get(`SELECT ${fields} FROM boards b WHERE project_id = ? ORDER BY position LIMIT 1`, [projectId])

/** Inserts a board at a position of its project; without one, at the end. */
export const insertBoard = async (
  tx: Transaction,
  board: Omit<NewRow<typeof boardFields>, 'position'> & { position?: number },
): Promise<number> =>
  record.insert(tx, { ...board, position: board.position ?? (await endOfProject(tx, board.projectId)) })
const endOfProject = async (db: Reader, projectId: number): Promise<number> =>
  (await db.get<{ end: number }>('SELECT coalesce(max(position) + 1, 0) AS end FROM boards WHERE project_id = ?', [
    projectId,
  ]))!.end

export const renameBoard = async (tx: Transaction, id: number, name: string): Promise<void> => {
  await tx.run('UPDATE boards SET name = ? WHERE id = ?', [name, id])
}
export const setBoardPosition = async (tx: Transaction, id: number, position: number): Promise<void> => {
  tx.enqueue('UPDATE boards SET position = ? WHERE id = ?', [position, id])
}

/** Deletes a board with its columns and cards, and renumbers the boards behind it. */
export async function deleteBoard(tx: Transaction, board: BoardRow): Promise<void> {
  await tx.run('DELETE FROM boards WHERE id = ?', [board.id])
  await tx.run('UPDATE boards SET position = position - 1 WHERE project_id = ? AND position > ?', [
    board.projectId,
    board.position,
  ])
}
