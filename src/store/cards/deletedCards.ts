import type { Reader } from '../engine/database.ts'

/** A deleted card that can be restored. */
export interface DeletedCardRow {
  id: number
  title: string
  boardId: number
  columnId: number
  columnName: string
  deletedAt: string
}
interface DeletedFilter {
  projectId: number
  boardId?: number
  /** Time of the earliest deletion. */
  since: string
  limit: number
  offset: number
}

/** The deleted cards of a project, the newest deletion first. */
export const listDeletedCards = (
  db: Reader,
  { projectId, boardId, since, limit, offset }: DeletedFilter,
): Promise<DeletedCardRow[]> =>
  db.all(
    `SELECT c.id, c.title, c.board_id AS boardId, c.column_id AS columnId, l.name AS columnName, c.deleted_at AS deletedAt
     FROM cards c JOIN columns l ON l.id = c.column_id
     WHERE c.project_id = ?1 AND c.deleted_at >= ?2 AND c.kind <> 'assistant' AND (?3 IS NULL OR c.board_id = ?3)
     ORDER BY c.deleted_at DESC, c.id DESC LIMIT ?4 OFFSET ?5`,
    [projectId, since, boardId ?? null, limit, offset],
  )
