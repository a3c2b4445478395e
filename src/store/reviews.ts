import type { NewComment, Verdict } from '../contract/reviews.ts'
import type { Reader, Transaction } from './database.ts'
import { defineRecord, id, json, number, text, type NewRow, type Row } from './record.ts'

export const reviewFields = {
  id: id(),
  cardId: id(),
  round: number(),
  verdict: text<Verdict>(),
  body: text(),
  /** Null without an account of this server. */
  authorId: id().orNull(),
  authorName: text(),
  baseCommit: text().orNull(),
  headCommit: text().orNull(),
  /** The Git object of the reviewed files, kept by a ref; null where there is none. */
  snapshot: text().orNull(),
  createdAt: text().initiallyNow(),
}
export type ReviewRow = Row<typeof reviewFields>
export type NewReview = NewRow<typeof reviewFields>
const reviewRecord = defineRecord('reviews', 'r', reviewFields)

export const reviewCommentFields = {
  id: id(),
  reviewId: id(),
  cardId: id().computed('r.card_id'),
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
export const readReview = (db: Reader, cardId: number, id: number): Promise<ReviewRow | undefined> =>
  db.get(`SELECT ${reviewRecord.columns} FROM reviews r WHERE r.id = ? AND r.card_id = ?`, [id, cardId])
/** The comments of a card's reviews, or of one of them, in their order. */
export const listReviewComments = (db: Reader, cardId: number, reviewId?: number): Promise<ReviewCommentRow[]> =>
  db.all(`${comments} WHERE r.card_id = ?1 AND (?2 IS NULL OR r.id = ?2) ORDER BY m.id`, [cardId, reviewId ?? null])
export const readReviewComment = (db: Reader, cardId: number, id: number): Promise<ReviewCommentRow | undefined> =>
  db.get(`${comments} WHERE m.id = ? AND r.card_id = ?`, [id, cardId])

/** About how many characters a list of the card's reviews has, the names of its fields included. */
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
  projectId: number
  snapshot: string
}
/** The snapshots of reviews in this machine's repositories, of cards that were deleted before the time. */
export const listDeletedSnapshots = (db: Reader, before: string): Promise<KeptSnapshot[]> =>
  db.all(
    `SELECT DISTINCT c.id AS cardId, c.project_id AS projectId, r.snapshot FROM cards c JOIN reviews r ON r.card_id = c.id AND r.snapshot IS NOT NULL
     WHERE c.deleted_at < ? AND c.project_id IN (SELECT id FROM projects WHERE host IS ?) LIMIT 1000`,
    [before, db.host],
  )
export const forgetSnapshot = (tx: Transaction, { cardId, snapshot }: KeptSnapshot): void => {
  tx.enqueue('UPDATE reviews SET snapshot = NULL WHERE card_id = ? AND snapshot = ?', [cardId, snapshot])
}
