import type { NewComment, Verdict } from '../../contract/forges/reviews.ts'
import type { ProjectRole } from '../../contract/route.ts'
import type { Reader, Transaction } from '../engine/database.ts'
import { defineRecord, id, json, number, text, type NewRow, type Row } from '../engine/record.ts'

export const reviewFields = {
  id: id(),
  cardId: id(),
  round: number(),
  verdict: text<Verdict>(),
  body: text(),
  /** Null if the author has no account on this server. */
  authorId: id().orNull(),
  authorName: text(),
  /** The author's role in the project at that time. Null if the author is not a person: an agent, or a program with a key. */
  authorRole: text<ProjectRole>().orNull(),
  baseCommit: text().orNull(),
  headCommit: text().orNull(),
  /** The Git object of the reviewed files, kept by a ref. Null if there is none. */
  snapshot: text().orNull(),
  /** The trees of the reviewed files in all repositories, as proofs have them. Null if there were none. */
  trees: text().orNull(),
  /** The session of the reviewer of a gate. Null for other authors. */
  sessionId: id().orNull(),
  createdAt: text().initiallyNow(),
}
export type ReviewRow = Row<typeof reviewFields>
export type NewReview = NewRow<typeof reviewFields>
const reviewRecord = defineRecord('reviews', 'r', reviewFields)

export const reviewCommentFields = {
  id: id(),
  reviewId: id(),
  cardId: id().computed('r.card_id'),
  /** Empty for the project's home. */
  repository: text().initially(''),
  path: text(),
  side: text<'old' | 'new'>(),
  startLine: number(),
  line: number(),
  /** The text of the reviewed lines. */
  text: text(),
  body: text(),
  answer: text().orNull(),
  answeredAt: text().orNull(),
  resolvedAt: text().orNull(),
}
export type ReviewCommentRow = Row<typeof reviewCommentFields>
export type NewReviewComment = NewRow<typeof reviewCommentFields>
const commentRecord = defineRecord('review_comments', 'm', reviewCommentFields)
const comments = `SELECT ${commentRecord.columns} FROM reviews r JOIN review_comments m ON m.review_id = r.id`

/** A card's reviews, oldest first. */
export const listReviews = (db: Reader, cardId: number): Promise<ReviewRow[]> =>
  db.all(`SELECT ${reviewRecord.columns} FROM reviews r WHERE r.card_id = ? ORDER BY r.id`, [cardId])

/** A person's verdict about a card. */
export type VerdictRow = Pick<ReviewRow, 'authorId' | 'authorName' | 'authorRole' | 'verdict' | 'trees'> & {
  authorRole: ProjectRole
}
/** The latest verdict of each person about a card, without reviews that only comment. */
export const listVerdicts = (db: Reader, cardId: number): Promise<VerdictRow[]> =>
  db.all(
    `SELECT ${reviewRecord.columnsOf(['authorId', 'authorName', 'authorRole', 'verdict', 'trees'])} FROM reviews r
     WHERE r.id IN (SELECT max(id) FROM reviews WHERE card_id = ? AND author_role IS NOT NULL AND verdict <> 'comment' GROUP BY author_id)
     ORDER BY r.id`,
    [cardId],
  )
export const readReview = (db: Reader, cardId: number, id: number): Promise<ReviewRow | undefined> =>
  db.get(`SELECT ${reviewRecord.columns} FROM reviews r WHERE r.id = ? AND r.card_id = ?`, [id, cardId])
/** The review that the reviewer of a gate submitted in a session. */
export const readReviewOfSession = (db: Reader, sessionId: number): Promise<ReviewRow | undefined> =>
  db.get(`SELECT ${reviewRecord.columns} FROM reviews r WHERE r.session_id = ?`, [sessionId])
/** The comments of a card's reviews, or of one of them, in their order. */
export const listReviewComments = (db: Reader, cardId: number, reviewId?: number): Promise<ReviewCommentRow[]> =>
  db.all(`${comments} WHERE r.card_id = ?1 AND (?2 IS NULL OR r.id = ?2) ORDER BY m.id`, [cardId, reviewId ?? null])
export const readReviewComment = (db: Reader, cardId: number, id: number): Promise<ReviewCommentRow | undefined> =>
  db.get(`${comments} WHERE m.id = ? AND r.card_id = ?`, [id, cardId])

/** The approximate number of characters in a list of the card's reviews, including field names. */
export const readReviewsLength = async (db: Reader, cardId: number): Promise<number> =>
  (await db.get<{ length: number }>(
    `SELECT (SELECT COALESCE(SUM(400 + length(body)), 0) FROM reviews WHERE card_id = ?1)
      + (SELECT COALESCE(SUM(200 + length(m.path) + length(m.text) + length(m.body) + COALESCE(length(m.answer), 0)), 0)
         FROM reviews r JOIN review_comments m ON m.review_id = r.id WHERE r.card_id = ?1) AS length`,
    [cardId],
  ))!.length

export const insertReview = (tx: Transaction, review: NewReview): Promise<number> => reviewRecord.insert(tx, review)
export const insertReviewComment = (tx: Transaction, comment: NewReviewComment): Promise<number> =>
  commentRecord.insert(tx, comment)
export const updateReviewComment = (
  tx: Transaction,
  id: number,
  change: Pick<ReviewCommentRow, 'answer' | 'answeredAt' | 'resolvedAt'>,
): void => commentRecord.update(tx, id, change)

const reviewRepositoryFields = {
  reviewId: id(),
  name: text(),
  /** The repository's folder. */
  path: text(),
  baseCommit: text().orNull(),
  headCommit: text().orNull(),
  /** The snapshot, as in the review. */
  snapshot: text().orNull(),
}
/** The part of a review in one of the project's other repositories. */
export type ReviewRepositoryRow = Row<typeof reviewRepositoryFields>
const repositoryRecord = defineRecord('review_repositories', 'e', reviewRepositoryFields)

export const insertReviewRepository = async (tx: Transaction, row: ReviewRepositoryRow): Promise<void> => {
  await repositoryRecord.insert(tx, row)
}
export const readReviewRepository = (
  db: Reader,
  reviewId: number,
  name: string,
): Promise<ReviewRepositoryRow | undefined> =>
  db.get(`SELECT ${repositoryRecord.columns} FROM review_repositories e WHERE e.review_id = ? AND e.name = ?`, [
    reviewId,
    name,
  ])

const draftFields = {
  userId: id(),
  cardId: id(),
  body: text(),
  comments: json<NewComment[]>(),
  updatedAt: text(),
}
export type ReviewDraftRow = Row<typeof draftFields>
const drafts = defineRecord('review_drafts', 'd', draftFields)

export const readReviewDraft = (db: Reader, userId: number, cardId: number): Promise<ReviewDraftRow | undefined> =>
  db.get(`SELECT ${drafts.columns} FROM review_drafts d WHERE d.user_id = ? AND d.card_id = ?`, [userId, cardId])
export const writeReviewDraft = (tx: Transaction, draft: Omit<ReviewDraftRow, 'updatedAt'>): void => {
  tx.enqueue(
    `INSERT INTO review_drafts (user_id, card_id, body, comments, updated_at) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET body = excluded.body, comments = excluded.comments, updated_at = excluded.updated_at`,
    [draft.userId, draft.cardId, draft.body, draft.comments, tx.now],
  )
}
export const deleteReviewDraft = (tx: Transaction, userId: number, cardId: number): void => {
  tx.enqueue('DELETE FROM review_drafts WHERE user_id = ? AND card_id = ?', [userId, cardId])
}

export interface KeptSnapshot {
  cardId: number
  /** The folder of the repository with the snapshot. */
  path: string
  snapshot: string
}
/** The snapshots of reviews in this machine's repositories, of cards that were deleted before the time. */
export const listDeletedSnapshots = (db: Reader, before: string): Promise<KeptSnapshot[]> =>
  db.all(
    `WITH gone AS (SELECT c.id, p.path FROM cards c JOIN projects p ON p.id = c.project_id WHERE c.deleted_at < ? AND p.host IS ?)
     SELECT g.id AS cardId, g.path, r.snapshot FROM gone g JOIN reviews r ON r.card_id = g.id WHERE r.snapshot IS NOT NULL
     UNION SELECT g.id, e.path, e.snapshot FROM gone g JOIN reviews r ON r.card_id = g.id JOIN review_repositories e ON e.review_id = r.id
     WHERE e.snapshot IS NOT NULL LIMIT 1000`,
    [before, db.host],
  )
/**
 * Deletes the record of a snapshot in one repository. The same object can be the snapshot of other repositories if they are empty, or are
 * copies.
 */
export const forgetSnapshot = (tx: Transaction, { cardId, path, snapshot }: KeptSnapshot): void => {
  tx.enqueue(
    `UPDATE review_repositories SET snapshot = NULL WHERE snapshot = ?2 AND path = ?3 AND review_id IN (SELECT id FROM reviews WHERE card_id = ?1)`,
    [cardId, snapshot, path],
  )
  tx.enqueue(
    `UPDATE reviews SET snapshot = NULL WHERE card_id = ?1 AND snapshot = ?2 AND ?3 = (SELECT p.path FROM cards c JOIN projects p ON p.id = c.project_id WHERE c.id = ?1)`,
    [cardId, snapshot, path],
  )
}
