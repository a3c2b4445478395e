import type { MergeMethod } from '../contract/forge.ts'
import type { PullRequest, PullRequestState, PullRequestSummary } from '../contract/pullRequestRecords.ts'
import { checksOfAll, reviewOfAll } from '../contract/pullRequestSummary.ts'
import type { Reader, Transaction } from './database.ts'
import { defineRecord, flag, id, json, number, text, type Change, type NewRow, type Row } from './record.ts'

/** asked: its agent works on it. pushing: the agent is done, and its work and answers are to be brought to the forge. */
export type RequestStep = 'idle' | 'asked' | 'pushing'
export interface RequestAnswer {
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
  rounds: number().initially(0),
  stopped: text().orNull(),
  /** What its agent was told of already: failures and reviews by the forge's own names. */
  told: json<string[]>().initially('[]'),
  etag: text().orNull(),
  readAt: text().orNull(),
  nextReadAt: text().orNull(),
  problem: text().orNull(),
  /** Whose rights its agent is sent back with: who opened it. */
  makerUserId: number().orNull(),
  makerKeyId: number().orNull(),
  step: text<RequestStep>().initially('idle'),
  /** What the board itself has pushed, or has seen to be part of the card's branch. */
  pushedCommit: text().orNull(),
  /** The comments that its agent is asked about, and what it answers. */
  answers: json<RequestAnswer[]>().initially('[]'),
  /** How often in a row the forge did not answer; -1: it has had enough requests until it is read next. */
  failures: number().initially(0),
  /** What follows from its end: 0 until its card has moved, 1 until its worktree is gone or kept. */
  settled: number().initially(0),
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

/** Keeps a new pull request. The caller shows it on its card. */
export const insertPullRequest = (tx: Transaction, pull: NewPullRequest): Promise<number> => record.insert(tx, pull)

/** Changes a pull request. The caller shows it on its card. */
export const updatePullRequest = (tx: Transaction, id: number, change: PullRequestChange): void => {
  record.update(tx, id, change)
}

/** Forgets a pull request that came to nothing. The caller shows that on its card. */
export const deletePullRequest = (tx: Transaction, id: number): void => {
  tx.enqueue('DELETE FROM pull_requests WHERE id = ?', [id])
}

/** Notes that the forge was asked, which is no change. */
export const notePullRequestRead = (
  tx: Transaction,
  id: number,
  { readAt, etag }: Pick<PullRequestRow, 'readAt' | 'etag'>,
): void => {
  tx.enqueue('UPDATE pull_requests SET read_at = ?, etag = ? WHERE id = ?', [readAt, etag, id])
}

/** Shows a card's newest pull request on it. @returns whether the card changed, which the caller tells of */
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
