import type { Reader, Transaction } from './database.ts'

/** Somebody who works on a project, with their stored notification settings as JSON text. */
export interface WorkerRow {
  userId: number
  settings: string | null
}

/** A project's owner and those who have the role member or admin in the project itself. */
export const listWorkers = (db: Reader, projectId: number): Promise<WorkerRow[]> =>
  db.all(
    `SELECT w.id AS userId, s.value AS settings
   FROM (SELECT owner_id AS id FROM projects WHERE id = ?1 UNION SELECT user_id FROM project_members WHERE project_id = ?1 AND role IN ('member', 'admin')) w
   LEFT JOIN user_settings s ON s.user_id = w.id AND s.name = 'notifications' ORDER BY w.id`,
    [projectId],
  )

/** Records that a session's wait is notified. @returns false when it was already, or the session is gone */
export const noteWaiting = async (tx: Transaction, sessionId: number): Promise<boolean> =>
  (
    await tx.run(
      'INSERT INTO waiting_told (session_id) SELECT id FROM agent_sessions WHERE id = ? ON CONFLICT DO NOTHING',
      [sessionId],
    )
  ).changes === 1
export const forgetWaiting = async (tx: Transaction, sessionId: number): Promise<void> => {
  tx.enqueue('DELETE FROM waiting_told WHERE session_id = ?', [sessionId])
}
