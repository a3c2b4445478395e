import { Problem } from '../../contract/errors.ts'
import { add, type CheckedReview, type ReviewWithComments } from '../../cardWork/reviews.ts'
import { find, type StartRef } from '../../domain/cards/cards.ts'
import type { Transaction } from '../../store/engine/database.ts'
import { hasWorked } from '../../store/agents/sessions.ts'
import { advancePipeline } from './advancePipeline.ts'
import type { Supervisor } from './agentSupervisor.ts'
import { messageOf } from './prompts/reviewMessage.ts'
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
