import { Problem } from '../../contract/errors.ts'
import { add, type CheckedReview, type ReviewWithComments } from '../../cardWork/reviews.ts'
import { find, type StartRef } from '../../domain/cards/cards.ts'
import type { Transaction } from '../../store/engine/database.ts'
import type { ReviewCommentRow } from '../../store/forges/reviews.ts'
import { hasWorked } from '../../store/agents/sessions.ts'
import { advancePipeline } from './advancePipeline.ts'
import type { Supervisor } from './agentSupervisor.ts'
import { send } from './sessionCommands.ts'

/**
 * Submits a review. If it requests changes, it becomes the next message to the card's agent, which resumes or starts again. If it is the
 * approval that a card in auto mode waits for, the card moves on.
 * @throws Problem as `add` and `send` do, CONFLICT if it requests changes and no agent has worked on the card
 */
export async function submitReview(
  tx: Transaction,
  supervisor: Supervisor,
  ref: StartRef,
  checked: CheckedReview,
): Promise<ReviewWithComments> {
  if (checked.verdict === 'request_changes' && !(await hasWorked(tx, ref.cardId)))
    throw new Problem(
      'CONFLICT',
      'No agent has worked on the card yet. Add the changes to its prompt and start the card, or submit the review as a comment.',
    )
  const review = await add(tx, ref, checked)
  if (review.verdict === 'request_changes')
    await send(tx, supervisor, ref, { content: messageOf(review), attachmentIds: [] })
  const { trees, authorRole } = checked
  const counts = review.verdict === 'approve' && trees !== null && authorRole !== null
  if (counts && (await find(tx, ref)).statusReason === 'gate')
    await advancePipeline(tx, supervisor, ref.projectId, ref.cardId, trees)
  return review
}

/** A review as the agent receives it: each comment with its location and the text of its lines. */
function messageOf({ round, body, authorName, comments }: ReviewWithComments): string {
  const open = comments.filter(({ resolvedAt }) => resolvedAt === null)
  return [
    `${authorName || 'A person'} reviewed your work and requests changes (round ${round}).`,
    body.trim(),
    ...open.map(commentText),
    open.length > 0
      ? 'Make the changes. Then answer each comment with the tool answer_comment, and pass resolved: true where you did what it asks for.'
      : 'Make the changes.',
  ]
    .filter(Boolean)
    .join('\n\n')
}

function commentText({ id, repository, path, side, startLine, line, text, body }: ReviewCommentRow): string {
  const lines = startLine === line ? `line ${line}` : `lines ${startLine} to ${line}`
  const name = /[\p{C}"]/u.test(path) ? JSON.stringify(path) : path
  return `Comment ${id} on ${name}${repository && ` in the repository ${repository}`}, ${lines}${side === 'old' ? ' in the version before your changes' : ''}:\n${quote(text)}\n\n${body.trim()}`
}

const quote = (text: string): string =>
  text
    .split('\n')
    .map(line => `> ${line}`)
    .join('\n')
