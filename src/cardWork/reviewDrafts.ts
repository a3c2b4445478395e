import { Problem } from '../contract/errors.ts'
import type { NewComment } from '../contract/forges/reviews.ts'
import type { Caller } from '../domain/accounts/caller.ts'
import { find, type CardRef } from '../domain/cards/cards.ts'
import type { Reader, Transaction } from '../store/engine/database.ts'
import { deleteReviewDraft, readReviewDraft, writeReviewDraft } from '../store/forges/reviews.ts'

/** A user's unsent review. `startLine` is null for a single line. */
export interface Draft {
  body: string
  comments: NewComment[]
  updatedAt: string | null
}
export type OwnRef = CardRef & { caller: Caller }

/** The caller's own draft of a review. Empty if there is none. @throws Problem CARD_NOT_FOUND */
export async function findDraft(db: Reader, ref: OwnRef): Promise<Draft> {
  const { id } = await find(db, ref)
  const draft = await readReviewDraft(db, ref.caller.userId, id)
  return draft
    ? { body: draft.body, comments: JSON.parse(draft.comments) as NewComment[], updatedAt: draft.updatedAt }
    : { body: '', comments: [], updatedAt: null }
}

/** Replaces the caller's own draft; an empty one is deleted. @throws Problem CARD_NOT_FOUND */
export async function saveDraft(
  tx: Transaction,
  ref: OwnRef,
  { body, comments }: Omit<Draft, 'updatedAt'>,
): Promise<Draft> {
  const { id: cardId } = await find(tx, ref)
  const { userId } = ref.caller
  if (body.trim() === '' && comments.length === 0) deleteReviewDraft(tx, userId, cardId)
  else writeReviewDraft(tx, { userId, cardId, body, comments: JSON.stringify(comments) })
  return findDraft(tx, ref)
}

/** Deletes the draft that became a review. @throws Problem CONFLICT if it was sent or changed in the meantime */
export async function takeDraft(tx: Transaction, ref: OwnRef, draftedAt: string): Promise<void> {
  if ((await findDraft(tx, ref)).updatedAt !== draftedAt)
    throw new Problem('CONFLICT', 'The draft was sent or changed by another request. Reload it.')
  deleteReviewDraft(tx, ref.caller.userId, ref.cardId)
}
