import { listWithLeftovers, type CardLeftovers } from '../cards/cardLeftovers.ts'
import type { Reader, Transaction } from '../engine/database.ts'
import { listAgreements, type Agreement } from './boardFileAgreements.ts'
import { readProject, type ProjectRow } from './projects.ts'

/** The leftovers of a deleted card, and the fields of its project that the cleanup requires. */
export interface Orphan {
  project: Pick<ProjectRow, 'id' | 'path' | 'folderRecords' | 'worktree' | 'copiedFiles' | 'sandbox'>
  agreements: Array<Pick<Agreement, 'version' | 'lapsed'>>
  card: CardLeftovers
}

/** Records the leftovers of a project's or board's cards, whose rows the same transaction deletes. */
export async function insertOrphans(tx: Transaction, of: { projectId: number; boardId?: number }): Promise<void> {
  const [row, cards] = [await readProject(tx, of.projectId), await listWithLeftovers(tx, of)]
  if (!row) return
  const { id, path, folderRecords, worktree, copiedFiles, sandbox } = row
  const project = { id, path, folderRecords, worktree, copiedFiles, sandbox }
  const agreements = await listAgreements(tx, id)
  for (const card of cards)
    tx.enqueue('INSERT INTO orphaned_worktrees (host, data, created_at) VALUES (?, ?, ?)', [
      row.host,
      JSON.stringify({ project, agreements, card } satisfies Orphan),
      tx.now,
    ])
}

/** The orphans of this machine, oldest first. */
export const listOrphans = async (db: Reader): Promise<Array<{ id: number } & Orphan>> =>
  (
    await db.all<{ id: number; data: string }>('SELECT id, data FROM orphaned_worktrees WHERE host IS ? ORDER BY id', [
      db.host,
    ])
  ).map(({ id, data }) => ({ id, ...(JSON.parse(data) as Orphan) }))

export const deleteOrphan = async (tx: Transaction, id: number): Promise<void> => {
  tx.enqueue('DELETE FROM orphaned_worktrees WHERE id = ?', [id])
}
