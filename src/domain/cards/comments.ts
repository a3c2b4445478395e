import { maxComments } from '../../contract/cards/comments.ts'
import { Problem } from '../../contract/errors.ts'
import { appendEvent } from '../../events/outbox.ts'
import {
  countComments,
  deleteComment,
  insertComment,
  listComments,
  readComment,
  updateComment,
  type CommentRow,
} from '../../store/cards/comments.ts'
import { dropMentions } from '../../store/cards/inbox.ts'
import type { CardRow } from '../../store/cards/cards.ts'
import type { Reader, Transaction } from '../../store/engine/database.ts'
import { comment as view } from '../../views/comments.ts'
import { projectRole } from '../accounts/access.ts'
import { recordActivity } from './activity.ts'
import { noAccount, type Caller } from '../accounts/caller.ts'
import { watchByComment } from './cardPeople.ts'
import * as cards from './cards.ts'
import type { CardRef } from './cards.ts'
import { noteComment } from './inbox.ts'
import { watchingOf } from '../../views/cards.ts'
import { mentionsOf } from '../../contract/cards/mentions.ts'

type OwnRef = CardRef & { caller: Caller }

/** A page of a card's comments, newest first; `next` is the cursor of the next page. @throws Problem CARD_NOT_FOUND */
export async function list(
  db: Reader,
  ref: CardRef,
  { cursor, limit }: { cursor?: number; limit: number },
): Promise<{ rows: CommentRow[]; next: number | undefined }> {
  const { id } = await cards.find(db, ref)
  const rows = await listComments(db, id, { before: cursor, limit: limit + 1 })
  return { rows: rows.slice(0, limit), next: rows.length > limit ? rows[limit - 1]!.id : undefined }
}

/**
 * Adds a comment of the caller, a user or an agent.
 * @throws Problem CARD_NOT_FOUND, CONFLICT if the card has the maximum number of comments
 */
export async function add(tx: Transaction, ref: OwnRef, body: string): Promise<CommentRow> {
  const card = await cards.find(tx, ref)
  if (card.commentCount >= maxComments)
    throw new Problem('CONFLICT', `A card can have at most ${maxComments} comments.`)
  const { userId, displayName } = ref.caller
  const isAgent = userId === noAccount
  const id = await insertComment(tx, {
    cardId: card.id,
    authorKind: isAgent ? 'agent' : 'user',
    authorId: isAgent ? null : userId,
    authorName: displayName,
    body,
  })
  await watchByComment(tx, card, ref.caller)
  return announce(tx, ref, id, 'comment.created', mentionsOf(body), watchingOf(card).watching)
}

/**
 * Adds a comment from a forge by an author without an account here. It mentions no users. Returns undefined if the card has the
 * maximum number of comments.
 */
export async function addForeign(
  tx: Transaction,
  card: CardRow,
  { authorName, body, createdAt }: Pick<CommentRow, 'authorName' | 'body'> & { createdAt?: string },
): Promise<number | undefined> {
  if ((await countComments(tx, card.id)) >= maxComments) return undefined
  const id = await insertComment(tx, { cardId: card.id, authorKind: 'imported', authorName, body, createdAt })
  await announce(tx, refTo(card), id, 'comment.created', [], watchingOf(card).watching)
  return id
}

/** Applies a change of a comment on the forge, unless the comment was deleted here. */
export async function editForeign(tx: Transaction, card: CardRow, commentId: number, body: string): Promise<void> {
  const comment = await readComment(tx, card.id, commentId)
  if (!comment || comment.body === body) return
  updateComment(tx, commentId, body)
  await announce(tx, refTo(card), commentId, 'comment.updated', [])
}

/** Applies the deletion of a comment on the forge. */
export async function removeForeign(tx: Transaction, card: CardRow, commentId: number): Promise<void> {
  const comment = await readComment(tx, card.id, commentId)
  if (comment) await removeComment(tx, card.projectId, comment)
}

const refTo = ({ projectId, id: cardId }: CardRow): CardRef => ({ projectId, cardId })

/** Changes the text of the caller's own comment. @throws Problem CARD_NOT_FOUND, COMMENT_NOT_FOUND, FORBIDDEN */
export async function edit(tx: Transaction, ref: OwnRef, commentId: number, body: string): Promise<CommentRow> {
  const comment = await find(tx, ref, commentId)
  if (!isOwn(comment, ref.caller)) throw new Problem('FORBIDDEN', 'Only the author can change a comment.')
  if (comment.body === body) return comment
  updateComment(tx, comment.id, body)
  const [before, mentioned] = [mentionsOf(comment.body), mentionsOf(body)]
  dropMentions(tx, comment.id, mentioned)
  return announce(
    tx,
    ref,
    comment.id,
    'comment.updated',
    mentioned.filter(id => !before.includes(id)),
  )
}

/** Deletes the caller's own comment, or, as an admin of the project, any comment. @throws Problem as `edit` */
export async function remove(tx: Transaction, ref: OwnRef, commentId: number): Promise<void> {
  const comment = await find(tx, ref, commentId)
  if (!isOwn(comment, ref.caller) && (await projectRole(tx, ref.caller, ref.projectId)) !== 'admin')
    throw new Problem('FORBIDDEN', 'Only the author or an admin of the project can delete a comment.')
  await removeComment(tx, ref.projectId, comment)
}

async function removeComment(tx: Transaction, projectId: number, { id, cardId }: CommentRow): Promise<void> {
  await deleteComment(tx, id)
  recordActivity(tx, cardId, 'comment.deleted')
  await appendEvent(tx, 'comment.deleted', projectId, {
    id: String(id),
    cardId: String(cardId),
    commentCount: await countComments(tx, cardId),
  })
}

const isOwn = ({ authorId }: CommentRow, { userId }: Caller): boolean => authorId === userId

async function find(db: Reader, ref: CardRef, commentId: number): Promise<CommentRow> {
  const { id } = await cards.find(db, ref)
  const comment = await readComment(db, id, commentId)
  if (!comment) throw new Problem('COMMENT_NOT_FOUND')
  return comment
}

async function announce(
  tx: Transaction,
  { projectId, cardId }: CardRef,
  id: number,
  event: 'comment.created' | 'comment.updated',
  mentioned: readonly number[],
  watching: readonly number[] = [],
): Promise<CommentRow> {
  const comment = (await readComment(tx, cardId, id))!
  noteComment(tx, comment, mentioned, watching)
  recordActivity(tx, cardId, event)
  await appendEvent(tx, event, projectId, {
    ...view(comment),
    mentioned: mentioned.map(String),
    commentCount: await countComments(tx, cardId),
  })
  return comment
}
