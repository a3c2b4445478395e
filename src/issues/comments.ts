import { randomBytes } from 'node:crypto'
import * as comments from '../domain/cards/comments.ts'
import type { ForgeComment } from '../forge/forge.ts'
import {
  insertIssueComment,
  listIssueComments,
  updateIssueComment,
  type CardIssueRow,
  type IssueCommentRow,
} from '../store/cards/cardIssues.ts'
import type { CardRow } from '../store/cards/cards.ts'
import { listAllComments, type CommentRow } from '../store/cards/comments.ts'
import type { Transaction } from '../store/engine/database.ts'
import { authorName, digestOf, receivedBody, sentBody, tokenIn } from './texts.ts'
import type { IssueSync } from './issueDependencies.ts'

/** A change of a comment that the forge must receive. `id`: the row of the comment on both sides. */
export type CommentAction =
  | { kind: 'comment'; id: number; body: string }
  | { kind: 'editComment'; id: number; forgeId: string; body: string; digest: string }
  | { kind: 'deleteComment'; id: number; forgeId: string }

/** The current comments of an issue. */
export interface Listed {
  comments: readonly ForgeComment[]
  /** The board's account on the forge, if it is needed. */
  account: string | undefined
}

/** If an issue has more comments, the forge's list might be incomplete, so no comment counts as deleted. */
const maxWhole = 1000

/** Returns an unpredictable marker. */
export const newToken = (): string => randomBytes(16).toString('hex')

/** Whether the board wrote the comment. The marker alone is not evidence, because it can be copied. */
export const isOwn = ({ body, author }: ForgeComment, token: string | null, account: string | undefined): boolean =>
  token !== null && author === account && tokenIn(body) === token

/**
 * Applies comments of the forge to a card, and records the card's changes for the forge before they are sent. A comment can be
 * changed and deleted where it was written, and its copy follows. A change of the copy itself is not transferred.
 */
export async function exchangeComments(
  tx: Transaction,
  sync: IssueSync,
  { issue, card, listed }: { issue: CardIssueRow; card: CardRow; listed: Listed },
): Promise<CommentAction[]> {
  await importComments(tx, sync, { issue, card, listed })
  return send(tx, issue, card)
}

interface Exchange {
  issue: CardIssueRow
  card: CardRow
  listed: Listed
}

async function importComments(tx: Transaction, sync: IssueSync, { issue, card, listed }: Exchange): Promise<void> {
  const known = await listIssueComments(tx, issue.id)
  const byForgeId = new Map(known.map(row => [row.forgeId, row]))
  for (const comment of listed.comments) {
    const row = byForgeId.get(comment.id)
    const sent = row
      ? undefined
      : known.find(each => each.forgeId === null && isOwn(comment, each.token, listed.account))
    if (sent) updateIssueComment(tx, sent.id, { forgeId: comment.id })
    else if (row) await updateComments(tx, sync, card, row, comment)
    else await receiveNew(tx, sync, { issue, card, listed }, comment)
  }
  const present = new Set(listed.comments.map(({ id }) => id))
  if (listed.comments.length >= maxWhole) return
  for (const row of known)
    if (row.forgeId !== null && row.gone === 0 && !present.has(row.forgeId)) {
      updateIssueComment(tx, row.id, { gone: true })
      if (row.writtenAt === 'board' || row.commentId === null) continue
      await comments.removeForeign(tx, card, row.commentId)
      sync.tally.received++
    }
}

async function receiveNew(
  tx: Transaction,
  sync: IssueSync,
  { issue, card, listed }: Exchange,
  comment: ForgeComment,
): Promise<void> {
  const row = { issueId: issue.id, forgeId: comment.id, writtenAt: 'forge', digest: digestOf(comment.body) } as const
  if (isOwn(comment, issue.token, listed.account))
    return void (await insertIssueComment(tx, { ...row, writtenAt: 'board' }))
  const body = receivedBody(comment)
  if (issue.passesComments === 1 || body === undefined) return void (await insertIssueComment(tx, row))
  const { createdAt, author } = comment
  const commentId = await comments.addForeign(tx, card, { authorName: authorName(author, sync.name), body, createdAt })
  if (commentId === undefined) return
  await insertIssueComment(tx, { ...row, commentId })
  sync.tally.received++
}

async function updateComments(
  tx: Transaction,
  sync: IssueSync,
  card: CardRow,
  row: IssueCommentRow,
  comment: ForgeComment,
): Promise<void> {
  const digest = digestOf(comment.body)
  if (row.writtenAt === 'board' || row.digest === digest) return
  updateIssueComment(tx, row.id, { digest })
  const body = receivedBody(comment)
  if (row.commentId === null || body === undefined) return
  await comments.editForeign(tx, card, row.commentId, body)
  sync.tally.received++
}

async function send(tx: Transaction, issue: CardIssueRow, card: CardRow): Promise<CommentAction[]> {
  const known = await listIssueComments(tx, issue.id)
  const written = await listAllComments(tx, card.id)
  const rows = new Map(known.map(row => [row.commentId, row]))
  const actions: CommentAction[] = []
  for (const comment of written) {
    const row = rows.get(comment.id)
    if (row) actions.push(...changedOn(tx, row, comment))
    else if (isToBeSent(issue, comment)) actions.push(await recordIntent(tx, issue, comment))
  }
  const present = new Set(written.map(({ id }) => id))
  for (const row of known) {
    if (row.writtenAt !== 'board' || row.commentId === null || row.gone === 1 || present.has(row.commentId)) continue
    // A deleted comment that was never sent is no longer sent.
    if (row.forgeId === null) updateIssueComment(tx, row.id, { gone: true })
    else actions.push({ kind: 'deleteComment', id: row.id, forgeId: row.forgeId })
  }
  return actions
}

const isToBeSent = ({ commentsFrom }: CardIssueRow, { authorKind, createdAt }: CommentRow): boolean =>
  commentsFrom !== null && authorKind !== 'imported' && createdAt >= commentsFrom

/** Records a comment before it is sent, so that a server that is killed in between finds the comment by its marker. */
async function recordIntent(tx: Transaction, issue: CardIssueRow, comment: CommentRow): Promise<CommentAction> {
  const token = newToken()
  const id = await insertIssueComment(tx, {
    issueId: issue.id,
    commentId: comment.id,
    writtenAt: 'board',
    digest: digestOf(comment.body),
    token,
  })
  return { kind: 'comment', id, body: sentBody(comment, token) }
}

function changedOn(tx: Transaction, row: IssueCommentRow, comment: CommentRow): CommentAction[] {
  if (row.writtenAt === 'forge' || row.gone === 1) return []
  const digest = digestOf(comment.body)
  const body = sentBody(comment, row.token!)
  if (row.forgeId !== null)
    return row.digest === digest ? [] : [{ kind: 'editComment', id: row.id, forgeId: row.forgeId, body, digest }]
  updateIssueComment(tx, row.id, { digest })
  return [{ kind: 'comment', id: row.id, body }]
}
