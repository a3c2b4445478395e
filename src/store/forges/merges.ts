import { home } from '../../contract/forges/repositories.ts'
import type { RepositoryMerge } from '../cards/cardFields.ts'
import type { CardRow } from '../cards/cards.ts'
import type { Reader, Transaction } from '../engine/database.ts'

/**
 * A branch that cards of a project were merged into. `tip` is its commit when all of these merges were last checked. Empty if they were not
 * checked.
 */
export interface MergeTarget {
  repository: string
  branch: string
  tip: string
}
/** A merged card, which can be in the trash. */
export type MergedCard = Pick<CardRow, 'id' | 'projectId' | 'mergedCommit' | 'mergedInto' | 'merges'>

/** The merges of a card that the board has performed or detected. */
export const storedMerges = ({ merges = '[]' }: Partial<Pick<CardRow, 'merges'>>): RepositoryMerge[] =>
  merges === '[]' ? [] : (JSON.parse(merges) as RepositoryMerge[])

/**
 * A card's merges. For a card that was imported as merged, only the visible fields are known, so the board does not check its
 * branch.
 */
export const mergesOf = (card: Pick<CardRow, 'merges' | 'mergedCommit' | 'mergedInto'>): RepositoryMerge[] => {
  const { mergedCommit, mergedInto } = card
  const all = storedMerges(card)
  return all.length > 0 || mergedCommit === null || mergedInto === null
    ? all
    : [{ repository: home, into: mergedInto, commit: mergedCommit, head: mergedCommit, byForge: true }]
}

export const listMergeTargets = (db: Reader, projectId: number): Promise<MergeTarget[]> =>
  db.all('SELECT repository, branch, tip FROM merge_targets WHERE project_id = ? ORDER BY repository, branch', [
    projectId,
  ])

/**
 * Adds a branch with a new merge. Known merges into the branch become unchecked, because the new merge was not part of the check.
 */
export const addMergeTarget = (tx: Transaction, projectId: number, { repository, branch, tip }: MergeTarget): void =>
  tx.enqueue(
    `INSERT INTO merge_targets (project_id, repository, branch, tip) VALUES (?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET tip = '' WHERE tip <> excluded.tip`,
    [projectId, repository, branch, tip],
  )

/**
 * Sets the commit with which a branch was checked, unless the branch has a new merge since it was read. Without a commit, the
 * branch no longer exists.
 */
export const setMergeTarget = (
  tx: Transaction,
  projectId: number,
  { repository, branch, tip }: MergeTarget,
  checked: string | undefined,
): void => {
  const known = [projectId, repository, branch, tip]
  const where = 'WHERE project_id = ? AND repository = ? AND branch = ? AND tip = ?'
  if (checked === undefined) tx.enqueue(`DELETE FROM merge_targets ${where}`, known)
  else tx.enqueue(`UPDATE merge_targets SET tip = ? ${where}`, [checked, ...known])
}

/** A branch of a merged card, with its commit that was merged. */
export interface MergedBranch {
  id: number
  repository: string
  branch: string
  head: string | undefined
}

/** The branches of a project's merged cards that are not in the trash. */
export const listMergedBranches = async (db: Reader, projectId: number): Promise<MergedBranch[]> =>
  (
    await db.all<{ id: number; repository: string; branch: string; merges: string }>(
      `SELECT id, '' AS repository, git_branch AS branch, merges FROM cards
       WHERE project_id = ?1 AND merged_at IS NOT NULL AND deleted_at IS NULL AND git_branch IS NOT NULL
       UNION ALL
       SELECT c.id, k.name, k.branch, c.merges FROM cards c JOIN card_repositories k ON k.card_id = c.id
       WHERE c.project_id = ?1 AND c.merged_at IS NOT NULL AND c.deleted_at IS NULL`,
      [projectId],
    )
  ).map(({ merges, ...row }) => ({
    ...row,
    head: storedMerges({ merges }).find(({ repository }) => repository === row.repository)?.head,
  }))

export const countMergedCards = async (db: Reader, projectId: number): Promise<number> =>
  (await db.get<{ count: number }>(
    'SELECT count(*) AS count FROM cards WHERE project_id = ? AND merged_at IS NOT NULL',
    [projectId],
  ))!.count

/** The projects with merged cards that belong to this machine or to none. */
export const listMergeProjects = async (db: Reader, host: string | null): Promise<number[]> =>
  (
    await db.all<{ id: number }>(
      `SELECT p.id FROM projects p WHERE (p.host IS NULL OR p.host = ?)
       AND EXISTS (SELECT 1 FROM cards c WHERE c.project_id = p.id AND c.merged_at IS NOT NULL) ORDER BY p.id`,
      [host],
    )
  ).map(({ id }) => id)

/** A project's merged cards, including those in the trash. */
export const listMergedCards = (db: Reader, projectId: number): Promise<MergedCard[]> =>
  db.all(
    `SELECT id, project_id AS projectId, merged_commit AS mergedCommit, merged_into AS mergedInto, merges
     FROM cards WHERE project_id = ? AND merged_at IS NOT NULL ORDER BY id`,
    [projectId],
  )
