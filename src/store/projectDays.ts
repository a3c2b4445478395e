import type { Reader, Transaction } from './database.ts'

/** A project's cards at the end of a day, by the type of their column; archived ones apart. */
export interface ProjectDay {
  day: string
  backlog: number
  active: number
  done: number
  archived: number
}

const countOf = (type: string) => `coalesce(sum(n.total) FILTER (WHERE l.column_type = '${type}'), 0)`
const present = `SELECT p.id AS project_id, ?1 AS day, ${countOf('backlog')} AS backlog, ${countOf('active')} AS active, ${countOf('done')} AS done,
  ${countOf('archive')} + (SELECT count(*) FROM cards c WHERE c.project_id = p.id AND c.archived_at IS NOT NULL AND c.deleted_at IS NULL) AS archived
  FROM projects p LEFT JOIN card_counts n ON n.project_id = p.id LEFT JOIN columns l ON l.id = n.column_id`

/** Records every project's counts for the day, replacing the day's earlier ones. */
export const noteProjectDays = async (tx: Transaction, day: string): Promise<void> => {
  await tx.run(`INSERT OR REPLACE INTO project_days ${present} GROUP BY p.id`, [day])
}

/** A project's counts now. */
export const readPresentDay = async (db: Reader, projectId: number, day: string): Promise<ProjectDay> =>
  (
    await db.all<ProjectDay>(
      `SELECT day, backlog, active, done, archived FROM (${present} WHERE p.id = ?2 GROUP BY p.id)`,
      [day, projectId],
    )
  )[0]!

/** The days from `since` up to but without `until`, oldest first. */
export const listProjectDays = (db: Reader, projectId: number, since: string, until: string): Promise<ProjectDay[]> =>
  db.all(
    'SELECT day, backlog, active, done, archived FROM project_days WHERE project_id = ? AND day >= ? AND day < ? ORDER BY day',
    [projectId, since, until],
  )

/** Deletes days before this one. */
export const forgetProjectDays = async (tx: Transaction, before: string): Promise<void> => {
  await tx.run('DELETE FROM project_days WHERE day < ?', [before])
}
