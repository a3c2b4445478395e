import { activeStatuses } from '../cards/cardFields.ts'
import type { Reader, Transaction } from '../engine/database.ts'
import type { PullRequestRow } from './pullRequests.ts'

const active = activeStatuses.map(status => `'${status}'`).join()
/** SQL of the pull requests of this machine's projects. */
const ours = `pull_requests q CROSS JOIN cards c ON c.id = q.card_id AND c.deleted_at IS NULL CROSS JOIN projects p ON p.id = c.project_id AND p.host IS ?1 AND p.hidden = 0`

/** The condition of ended pull requests with remaining work. */
const hasWorkLeft = `phase IN ('movingCard', 'removingWorktree') AND next_read_at IS NULL`

/** Pull requests that are due, and those whose agent has ended its turn, except for `without`. */
export const listDuePullRequests = async (
  db: Reader,
  now: string,
  without: readonly number[],
  limit: number,
): Promise<number[]> =>
  (
    await db.all<{ id: number }>(
      `SELECT q.id FROM ${ours} WHERE q.id IN (
         SELECT id FROM pull_requests WHERE next_read_at <= ?2
         UNION SELECT id FROM pull_requests WHERE ${hasWorkLeft}
         UNION SELECT a.id FROM pull_requests a CROSS JOIN cards k ON k.id = a.card_id WHERE a.phase = 'working' AND k.status NOT IN (${active}))
       AND q.id NOT IN (SELECT value FROM json_each(?3)) ORDER BY q.next_read_at LIMIT ?4`,
      [db.host, now, JSON.stringify(without), limit],
    )
  ).map(({ id }) => id)

/** The time of the next read of a pull request, except those that are being read. */
export const readNextReadTime = async (db: Reader, without: readonly number[]): Promise<string | null> =>
  (await db.get<{ at: string | null }>(
    `SELECT min(q.next_read_at) AS at FROM ${ours} WHERE q.next_read_at IS NOT NULL AND q.id NOT IN (SELECT value FROM json_each(?2))`,
    [db.host, JSON.stringify(without)],
  ))!.at

/** Records when a pull request is read next, without marking a change. */
export const scheduleRead = (
  tx: Transaction,
  id: number,
  { nextReadAt, failures }: Pick<PullRequestRow, 'nextReadAt' | 'failures'>,
): void => {
  tx.enqueue('UPDATE pull_requests SET next_read_at = ?, failures = ? WHERE id = ?', [nextReadAt, failures, id])
}

const ofProject = `card_id IN (SELECT id FROM cards WHERE project_id = ?1)`

/** Postpones the reads of a project's forge until a time. */
export const holdReads = (tx: Transaction, projectId: number, until: string): void => {
  tx.enqueue(
    `UPDATE pull_requests SET next_read_at = max(next_read_at, ?2), held_until = ?2 WHERE next_read_at IS NOT NULL AND ${ofProject}`,
    [projectId, until],
  )
}

/** Makes postponed reads of the projects' forges due now. They were postponed after a failure or an exhausted rate limit. */
export const retryForge = (tx: Transaction, projects: { projectId: number } | { credentialId: number }): void => {
  const [meant, id] =
    'projectId' in projects
      ? ['= ?2', projects.projectId]
      : ['IN (SELECT id FROM projects WHERE forge_credential_id = ?2)', projects.credentialId]
  tx.enqueue(
    `UPDATE pull_requests SET next_read_at = ?1, failures = 0, held_until = NULL WHERE (failures > 0 OR held_until > ?1) AND next_read_at IS NOT NULL
     AND card_id IN (SELECT id FROM cards WHERE project_id ${meant})`,
    [tx.now, id],
  )
  tx.enqueue(`UPDATE issue_syncs SET next_at = ?1, failures = 0 WHERE failures > 0 AND project_id ${meant}`, [
    tx.now,
    id,
  ])
}

/** Sets the next read of pull requests to `to` if it is after `beyond`. No regular interval is that long, so the clock was set back. */
export const bringReadsForward = (tx: Transaction, beyond: string, to: string): void => {
  tx.enqueue('UPDATE pull_requests SET next_read_at = ? WHERE next_read_at > ?', [to, beyond])
}

/**
 * Makes the reads of a project's updated pull requests due now, unless the forge's rate limit is exhausted.
 * @returns the number of pull requests
 */
export async function wakePullRequests(
  tx: Transaction,
  projectId: number,
  { number, branch, commit }: { number?: number; branch?: string; commit?: string },
): Promise<number> {
  const named = `(q.number = ?3 OR q.branch = ?4 OR q.head_commit = ?5 OR (?3 IS NULL AND ?4 IS NULL AND ?5 IS NULL))`
  const { changes } = await tx.run(
    `UPDATE pull_requests AS q SET next_read_at = ?2, etag = NULL WHERE q.state <> 'merged' AND (q.held_until IS NULL OR q.held_until <= ?2) AND q.${ofProject} AND ${named}`,
    [projectId, tx.now, number ?? null, branch ?? null, commit ?? null],
  )
  return changes
}

/** Whether another pull request of the card, in another repository, is still open. */
export const hasOtherOpen = async (
  db: Reader,
  { id, cardId }: Pick<PullRequestRow, 'id' | 'cardId'>,
): Promise<boolean> =>
  (await db.get(
    `SELECT 1 FROM pull_requests q WHERE q.card_id = ? AND q.id <> ? AND q.state IN ('open', 'creating') LIMIT 1`,
    [cardId, id],
  )) !== undefined

/** The pull requests of a card that have not ended, oldest first. */
export const listOpenOfCard = (db: Reader, cardId: number): Promise<Array<{ id: number }>> =>
  db.all(`SELECT id FROM pull_requests WHERE card_id = ? AND state IN ('open', 'creating') ORDER BY id`, [cardId])
