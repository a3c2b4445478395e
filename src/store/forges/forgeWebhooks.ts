import type { Reader, Transaction } from '../engine/database.ts'

/** The sealed secret of a project's forge. Null if there is none, undefined if the project does not exist. */
export const readForgeSecret = async (db: Reader, projectId: number): Promise<string | null | undefined> =>
  (
    await db.get<{ secret: string | null }>(
      'SELECT forge_webhook_secret AS secret FROM projects WHERE id = ? AND hidden = 0',
      [projectId],
    )
  )?.secret

export const setForgeSecret = async (tx: Transaction, projectId: number, sealed: string): Promise<void> => {
  await tx.run('UPDATE projects SET forge_webhook_secret = ? WHERE id = ?', [sealed, projectId])
}

/** Stores a delivery of a forge. @returns false if the delivery is already stored */
export async function insertForgeDelivery(tx: Transaction, projectId: number, id: string): Promise<boolean> {
  const { changes } = await tx.run('INSERT OR IGNORE INTO forge_deliveries (project_id, id, at) VALUES (?, ?, ?)', [
    projectId,
    id,
    tx.now,
  ])
  return changes > 0
}

export async function forgetForgeDeliveries(tx: Transaction, before: string, limit: number): Promise<number> {
  const { changes } = await tx.run(
    'DELETE FROM forge_deliveries WHERE (project_id, id) IN (SELECT project_id, id FROM forge_deliveries WHERE at < ? LIMIT ?)',
    [before, limit],
  )
  return changes
}
