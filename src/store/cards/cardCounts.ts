import type { CardStatus, ColumnType } from '../../contract/fields.ts'
import type { Reader } from '../engine/database.ts'

export interface Counts {
  columnId: number
  name: string
  columnType: ColumnType
  status: CardStatus | null
  total: number | null
}
/** The number of listed cards per column and status of a project. A column without cards has one row without a status. */
export const countCards = (db: Reader, projectId: number): Promise<Counts[]> =>
  db.all(
    `SELECT l.id AS columnId, l.name, l.column_type AS columnType, n.status, n.total FROM columns l JOIN boards b ON b.id = l.board_id
   LEFT JOIN card_counts n ON n.project_id = l.project_id AND n.column_id = l.id AND n.total > 0 WHERE l.project_id = ? ORDER BY b.position, l.position, n.status`,
    [projectId],
  )
