import type { Reader, Transaction } from '../engine/database.ts'
import { defineRecord, id, text, type NewRow, type Row } from '../engine/record.ts'

export const commentFields = {
  id: id(),
  cardId: id(),
  authorKind: text<'user' | 'agent' | 'imported'>(),
  /** The account of the author, which might be deleted. 0 for the local operator, null without an account. */
  authorId: id().orNull(),
  authorName: text(),
  body: text(),
  createdAt: text().initiallyNow(),
  editedAt: text().orNull(),
}
export type CommentRow = Row<typeof commentFields>
export type NewComment = NewRow<typeof commentFields>

const record = defineRecord('comments', 'k', commentFields)
const select = `SELECT ${record.columns} FROM comments k`

/** A card's comments with IDs below `before`, newest first. */
export const listComments = (
  db: Reader,
  cardId: number,
  { before = Number.MAX_SAFE_INTEGER, limit }: { before?: number; limit: number },
): Promise<CommentRow[]> =>
  db.all(`${select} WHERE k.card_id = ? AND k.id < ? ORDER BY k.id DESC LIMIT ?`, [cardId, before, limit])
/** All comments of a card, oldest first. */
export const listAllComments = (db: Reader, cardId: number): Promise<CommentRow[]> =>
  db.all(`${select} WHERE k.card_id = ? ORDER BY k.id`, [cardId])
export const readComment = (db: Reader, cardId: number, id: number): Promise<CommentRow | undefined> =>
  db.get(`${select} WHERE k.id = ? AND k.card_id = ?`, [id, cardId])
export const countComments = async (db: Reader, cardId: number): Promise<number> =>
  (await db.get<{ total: number }>('SELECT comment_count AS total FROM cards WHERE id = ?', [cardId]))!.total

export const insertComment = (tx: Transaction, comment: NewComment): Promise<number> => record.insert(tx, comment)
export const updateComment = (tx: Transaction, id: number, body: string): void =>
  record.update(tx, id, { body, editedAt: tx.now })
export const deleteComment = async (tx: Transaction, id: number): Promise<void> => {
  await tx.run('DELETE FROM comments WHERE id = ?', [id])
}
