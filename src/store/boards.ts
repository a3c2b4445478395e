import type { Reader, Transaction } from './database.ts'

export interface BoardRow {
  id: number
  name: string
  projectId: number
  position: number
  createdAt: string
}

const fields = 'id, name, project_id AS projectId, position, created_at AS createdAt'

export const readBoard = (db: Reader, projectId: number, id: number): Promise<BoardRow | undefined> =>
  db.get(`SELECT ${fields} FROM boards WHERE id = ? AND project_id = ?`, [id, projectId])
export const listBoards = (db: Reader, projectId: number): Promise<BoardRow[]> =>
  db.all(`SELECT ${fields} FROM boards WHERE project_id = ? ORDER BY position`, [projectId])
/** The default board: the project's first by position. */
export const readDefaultBoard = (db: Reader, projectId: number): Promise<BoardRow | undefined> =>
  db.get(`SELECT ${fields} FROM boards WHERE project_id = ? ORDER BY position LIMIT 1`, [projectId])

export const insertBoard = async (tx: Transaction, projectId: number, name: string): Promise<number> =>
  (
    await tx.run(
      'INSERT INTO boards (project_id, name, position, created_at) SELECT ?1, ?2, coalesce(max(position) + 1, 0), ?3 FROM boards WHERE project_id = ?1',
      [projectId, name, tx.now],
    )
  ).lastId

export const renameBoard = async (tx: Transaction, id: number, name: string): Promise<void> => {
  await tx.run('UPDATE boards SET name = ? WHERE id = ?', [name, id])
}
export const setBoardPosition = async (tx: Transaction, id: number, position: number): Promise<void> => {
  tx.enqueue('UPDATE boards SET position = ? WHERE id = ?', [position, id])
}

/** Deletes a board with its columns and cards; the boards behind it close up. */
export async function deleteBoard(tx: Transaction, board: BoardRow): Promise<void> {
  await tx.run('DELETE FROM boards WHERE id = ?', [board.id])
  await tx.run('UPDATE boards SET position = position - 1 WHERE project_id = ? AND position > ?', [
    board.projectId,
    board.position,
  ])
}
