import type { Reader, Transaction } from '../engine/database.ts'

/** The leftovers of a card: its managed worktree and branch, and the snapshots of its reviews in the repository. */
export interface CardLeftovers {
  id: number
  path: string | null
  branch: string | null
  firstPort: number | null
  snapshots: string[]
  /** The leftovers in the project's other repositories. */
  repositories: LeftRepository[]
  otherSnapshots: Array<{ path: string; snapshot: string }>
}
export interface LeftRepository {
  name: string
  path: string
  branch: string
  worktreePath: string | null
}
type ListNames = 'snapshots' | 'repositories' | 'otherSnapshots'

const hasOtherSnapshots = `SELECT 1 FROM reviews r JOIN review_repositories e ON e.review_id = r.id WHERE r.card_id = c.id AND e.snapshot IS NOT NULL`

/**
 * The cards of a project or board with a managed worktree, existing or planned, or with review snapshots, including deleted
 * cards.
 */
export const listWithLeftovers = async (
  db: Reader,
  { projectId, boardId }: { projectId: number; boardId?: number },
): Promise<CardLeftovers[]> =>
  (
    await db.all<Omit<CardLeftovers, ListNames> & Record<ListNames, string>>(
      `SELECT c.id, iif(c.worktree_managed, c.worktree_path, NULL) AS path, iif(c.worktree_managed, c.git_branch, NULL) AS branch,
        (SELECT p.first_port FROM card_ports p WHERE p.card_id = c.id) AS firstPort,
        (SELECT json_group_array(DISTINCT r.snapshot) FROM reviews r WHERE r.card_id = c.id AND r.snapshot IS NOT NULL) AS snapshots,
        (SELECT json_group_array(json_object('name', k.name, 'path', k.path, 'branch', k.branch, 'worktreePath', k.worktree_path))
          FROM card_repositories k WHERE k.card_id = c.id) AS repositories,
        (SELECT json_group_array(json_object('path', e.path, 'snapshot', e.snapshot)) FROM (SELECT DISTINCT e.path, e.snapshot FROM reviews r
          JOIN review_repositories e ON e.review_id = r.id WHERE r.card_id = c.id AND e.snapshot IS NOT NULL) e) AS otherSnapshots
      FROM cards c WHERE c.project_id = ?1 AND (?2 IS NULL OR c.board_id = ?2)
      AND ((c.worktree_managed = 1 AND c.worktree_path IS NOT NULL) OR EXISTS (SELECT 1 FROM agent_sessions s WHERE s.card_id = c.id AND s.ended_at IS NULL)
        OR EXISTS (SELECT 1 FROM card_repositories k WHERE k.card_id = c.id)
        OR EXISTS (SELECT 1 FROM reviews r WHERE r.card_id = c.id AND r.snapshot IS NOT NULL)
        OR EXISTS (${hasOtherSnapshots})) ORDER BY c.id`,
      [projectId, boardId],
    )
  ).map(({ snapshots, repositories, otherSnapshots, ...card }) => ({
    ...card,
    snapshots: JSON.parse(snapshots) as string[],
    repositories: JSON.parse(repositories) as LeftRepository[],
    otherSnapshots: JSON.parse(otherSnapshots) as CardLeftovers['otherSnapshots'],
  }))

/**
 * Up to `limit` cards that were deleted before the time. A card with a managed worktree or review snapshots is skipped until
 * those are removed.
 */
export const listPurgeable = async (db: Reader, before: string, limit: number): Promise<number[]> =>
  (
    await db.all<{ id: number }>(
      `SELECT c.id FROM cards c WHERE c.deleted_at < ? AND (c.worktree_managed = 0 OR c.worktree_path IS NULL)
       AND NOT EXISTS (SELECT 1 FROM card_repositories k WHERE k.card_id = c.id AND k.worktree_path IS NOT NULL)
       AND NOT EXISTS (${hasOtherSnapshots})
       AND NOT EXISTS (SELECT 1 FROM reviews r WHERE r.card_id = c.id AND r.snapshot IS NOT NULL) LIMIT ?`,
      [before, limit],
    )
  ).map(({ id }) => id)

/** Purges cards, with their attachments' rows. */
export const purgeCards = async (tx: Transaction, ids: readonly number[]): Promise<void> =>
  void (await tx.run('DELETE FROM cards WHERE id IN (SELECT value FROM json_each(?))', [JSON.stringify(ids)]))
