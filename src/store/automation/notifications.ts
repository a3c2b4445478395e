import type { Reader, Transaction } from '../engine/database.ts'

/** A person who works on a project, with their stored notification settings as JSON text. */
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

/** The given accounts that can see a project. */
export const listAmong = (db: Reader, projectId: number, userIds: readonly number[]): Promise<WorkerRow[]> =>
  db.all(
    `SELECT u.id AS userId, s.value AS settings FROM json_each(?2) j JOIN users u ON u.id = j.value JOIN projects p ON p.id = ?1 AND p.hidden = 0
     LEFT JOIN project_members m ON m.project_id = p.id AND m.user_id = u.id
     LEFT JOIN organization_members o ON o.organization_id = p.organization_id AND o.user_id = u.id
     LEFT JOIN user_settings s ON s.user_id = u.id AND s.name = 'notifications'
     WHERE p.owner_id = u.id OR m.role IS NOT NULL OR o.role IS NOT NULL OR u.role IN ('super_admin', 'admin') ORDER BY u.id`,
    [projectId, JSON.stringify(userIds)],
  )

/**
 * The accounts that manage a budget, regardless of whether they work on the project: the admins of its organization, the owner of
 * its credential.
 */
export const listBudgetKeepers = async (db: Reader, budgetId: number): Promise<number[]> =>
  (
    await db.all<{ id: number }>(
      `SELECT m.user_id AS id FROM budgets b JOIN organization_members m ON m.organization_id = b.organization_id AND m.role = 'admin' WHERE b.id = ?1
       UNION SELECT k.user_id FROM budgets b JOIN credentials k ON k.id = b.credential_id WHERE b.id = ?1`,
      [budgetId],
    )
  ).map(({ id }) => id)

/** Records that users were notified of a session's wait. @returns false if it was already recorded, or the session no longer exists */
export const noteWaiting = async (tx: Transaction, sessionId: number): Promise<boolean> =>
  (
    await tx.run(
      'INSERT INTO notified_waits (session_id) SELECT id FROM agent_sessions WHERE id = ? ON CONFLICT DO NOTHING',
      [sessionId],
    )
  ).changes === 1
export const forgetWaiting = async (tx: Transaction, sessionId: number): Promise<void> => {
  tx.enqueue('DELETE FROM notified_waits WHERE session_id = ?', [sessionId])
}
