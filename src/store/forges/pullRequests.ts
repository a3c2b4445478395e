import type { MergeMethod } from '../../contract/forges/forge.ts'
import type { PullRequest, PullRequestState, PullRequestSummary } from '../../contract/forges/pullRequestRecords.ts'
import { checksOfAll, reviewOfAll } from '../../contract/forges/pullRequestSummary.ts'
import type { Reader, Transaction } from '../engine/database.ts'
import { defineRecord, flag, id, json, number, text, type Change, type NewRow, type Row } from '../engine/record.ts'

/** See domain/forges/pullRequestPhases.ts. */
export type PullRequestPhase =
  | 'watching'
  | 'working'
  | 'pushing'
  | 'handedOver'
  | 'movingCard'
  | 'removingWorktree'
  | 'finished'
export interface CommentAnswer {
  commentId: string
  answer: string | null
}

export const pullRequestFields = {
  id: id(),
  cardId: id(),
  repository: text().initially(''),
  number: number().orNull(),
  url: text().orNull(),
  title: text(),
  state: text<PullRequestState>(),
  draft: flag(),
  base: text(),
  branch: text(),
  headCommit: text().orNull(),
  mergeable: flag().orNull(),
  mergeCommit: text().orNull(),
  checks: json<PullRequest['checks']>().initially('[]'),
  reviews: json<PullRequest['reviews']>().initially('[]'),
  autoMerge: flag(),
  mergeMethod: text<MergeMethod>(),
  /** Whether the forge has reported checks for any commit of the pull request. */
  hadChecks: flag().initially(false),
  rounds: number().initially(0),
  phase: text<PullRequestPhase>().initially('watching'),
  /** The decision that a user must make, in the phase `handedOver`. */
  stopped: text().orNull(),
  /** The failures, reviews and conflicts that its agent or a user was already notified of, by the forge's names. */
  reported: json<string[]>().initially('[]'),
  etag: text().orNull(),
  readAt: text().orNull(),
  nextReadAt: text().orNull(),
  problem: text().orNull(),
  /** The account whose permissions apply when the agent resumes: the author of the pull request. */
  makerUserId: number().orNull(),
  makerKeyId: number().orNull(),
  /** The commit that the board pushed, or recognized as part of the card's branch. */
  pushedCommit: text().orNull(),
  /** The comments that the agent must answer, and its answers. */
  answers: json<CommentAnswer[]>().initially('[]'),
  /** The number of consecutive failed requests to the forge. */
  failures: number().initially(0),
  /** When the forge's exhausted rate limit ends. Meaningless once this time has passed. */
  heldUntil: text().orNull(),
  createdAt: text().initiallyNow(),
  updatedAt: text().initiallyNow(),
}
export type PullRequestRow = Row<typeof pullRequestFields>
export type ListedPullRequest = PullRequestRow & { cardTitle: string }
export type NewPullRequest = NewRow<typeof pullRequestFields>
export type PullRequestChange = Omit<
  Change<typeof pullRequestFields>,
  'cardId' | 'repository' | 'createdAt' | 'updatedAt'
>

const record = defineRecord('pull_requests', 'q', pullRequestFields)

/** A card's newest pull request in a repository of its project. */
export const readPullRequest = (db: Reader, cardId: number, repository = ''): Promise<PullRequestRow | undefined> =>
  db.get(
    `SELECT ${record.columns} FROM pull_requests q WHERE q.card_id = ? AND q.repository = ? ORDER BY q.id DESC LIMIT 1`,
    [cardId, repository],
  )

export const readPullRequestById = (db: Reader, id: number): Promise<PullRequestRow | undefined> =>
  db.get(`SELECT ${record.columns} FROM pull_requests q WHERE q.id = ?`, [id])

/** A project's newest pull requests in these states, newest first. */
export const listPullRequests = (
  db: Reader,
  projectId: number,
  { states, limit }: { states: readonly PullRequestState[]; limit: number },
): Promise<ListedPullRequest[]> =>
  db.all(
    `SELECT ${record.columns}, c.title AS cardTitle FROM pull_requests q JOIN cards c ON c.id = q.card_id
     WHERE c.project_id = ? AND c.deleted_at IS NULL AND q.state IN (${states.map(() => '?').join(', ')})
     ORDER BY q.id DESC LIMIT ?`,
    [projectId, ...states, limit],
  )

/** Stores a new pull request. The caller shows it on its card. */
export const insertPullRequest = (tx: Transaction, pull: NewPullRequest): Promise<number> => record.insert(tx, pull)

/** Changes a pull request. The caller shows it on its card. */
export const updatePullRequest = (tx: Transaction, id: number, change: PullRequestChange): void => {
  record.update(tx, id, change)
}

/** Deletes a pull request that was never created. The caller updates its card. */
export const deletePullRequest = (tx: Transaction, id: number): void => {
  tx.enqueue('DELETE FROM pull_requests WHERE id = ?', [id])
}

/** Records that the forge was read, without marking a change. */
export const notePullRequestRead = (
  tx: Transaction,
  id: number,
  { readAt, etag }: Pick<PullRequestRow, 'readAt' | 'etag'>,
): void => {
  tx.enqueue('UPDATE pull_requests SET read_at = ?, etag = ? WHERE id = ?', [readAt, etag, id])
}

/** Shows a card's newest pull request on it. @returns whether the card changed; the caller then emits the event */
export async function showOnCard(tx: Transaction, cardId: number): Promise<boolean> {
  const pull = await readPullRequest(tx, cardId)
  const shown = pull ? JSON.stringify(summaryOf(pull)) : null
  const { changes } = await tx.run('UPDATE cards SET pull_request = ?1 WHERE id = ?2 AND pull_request IS NOT ?1', [
    shown,
    cardId,
  ])
  return changes > 0
}

const summaryOf = ({ number, url, state, draft, checks, reviews }: PullRequestRow): PullRequestSummary => ({
  number,
  url,
  state,
  draft: Boolean(draft),
  checks: checksOfAll(JSON.parse(checks)),
  review: reviewOfAll(JSON.parse(reviews)),
})
