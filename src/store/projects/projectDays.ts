import type { CardStatus } from '../../contract/fields.ts'
import type { Reader, Transaction } from '../engine/database.ts'

/**
 * The number of a project's cards at the end of a day, by the type of their column and by their status. Archived cards are counted
 * separately.
 */
export interface ProjectDay {
  day: string
  backlog: number
  active: number
  done: number
  archived: number
  byStatus: Partial<Record<CardStatus, number>>
}
type Row = Omit<ProjectDay, 'byStatus'> & { byStatus: string }

const countOf = (type: string) => `coalesce(sum(n.total) FILTER (WHERE l.column_type = '${type}'), 0)`
const byStatus = `(SELECT json_group_object(status, total) FROM (SELECT s.status, sum(s.total) AS total
  FROM card_counts s JOIN columns k ON k.id = s.column_id WHERE s.project_id = p.id AND k.column_type <> 'archive' GROUP BY s.status HAVING sum(s.total) > 0))`
const present = `SELECT p.id AS project_id, ?1 AS day, ${countOf('backlog')} AS backlog, ${countOf('active')} AS active, ${countOf('done')} AS done,
  ${countOf('archive')} + (SELECT count(*) FROM cards c WHERE c.project_id = p.id AND c.archived_at IS NOT NULL AND c.deleted_at IS NULL) AS archived,
  ${byStatus} AS by_status
  FROM projects p LEFT JOIN card_counts n ON n.project_id = p.id LEFT JOIN columns l ON l.id = n.column_id`
const fields = 'day, backlog, active, done, archived, by_status AS byStatus'

/** Records every project's counts for the day, replacing the day's earlier ones. */
export const noteProjectDays = async (tx: Transaction, day: string): Promise<void> => {
  await tx.run(
    `INSERT OR REPLACE INTO project_days (project_id, day, backlog, active, done, archived, by_status) ${present} GROUP BY p.id`,
    [day],
  )
}

/** A project's counts now. */
export const readPresentDay = async (db: Reader, projectId: number, day: string): Promise<ProjectDay> =>
  dayOf((await db.all<Row>(`SELECT ${fields} FROM (${present} WHERE p.id = ?2 GROUP BY p.id)`, [day, projectId]))[0]!)

/** The days from `since` to the day before `until`, oldest first. */
export const listProjectDays = async (
  db: Reader,
  projectId: number,
  since: string,
  until: string,
): Promise<ProjectDay[]> =>
  (
    await db.all<Row>(`SELECT ${fields} FROM project_days WHERE project_id = ? AND day >= ? AND day < ? ORDER BY day`, [
      projectId,
      since,
      until,
    ])
  ).map(dayOf)

const dayOf = ({ byStatus, ...row }: Row): ProjectDay => ({
  ...row,
  byStatus: JSON.parse(byStatus) as ProjectDay['byStatus'],
})

/** Deletes days before this one. */
export const forgetProjectDays = async (tx: Transaction, before: string): Promise<void> => {
  await tx.run('DELETE FROM project_days WHERE day < ?', [before])
}
