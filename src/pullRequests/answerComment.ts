import { invalid } from '../contract/errors.ts'
import { find, type CardRef } from '../domain/cards/cards.ts'
import * as pulls from '../domain/forges/pullRequests.ts'
import type { Transaction } from '../store/engine/database.ts'
import { readPullRequestById, type CommentAnswer } from '../store/forges/pullRequests.ts'
import { listOpenOfCard } from '../store/forges/pullRequestReads.ts'

/**
 * Stores the agent's answer to a comment on its pull request. The answer is posted with the agent's work. A later answer
 * replaces it.
 * @throws Problem CARD_NOT_FOUND, VALIDATION_FAILED for a comment that the agent was not asked about
 */
export async function answerComment(
  tx: Transaction,
  ref: CardRef,
  { commentId, answer }: { commentId: string; answer: string },
): Promise<CommentAnswer> {
  const card = await find(tx, ref)
  for (const { id } of await listOpenOfCard(tx, card.id)) {
    const row = (await readPullRequestById(tx, id))!
    const answers = JSON.parse(row.answers) as CommentAnswer[]
    if (!answers.some(each => each.commentId === commentId)) continue
    const changed = answers.map(each => (each.commentId === commentId ? { commentId, answer } : each))
    await pulls.change(tx, row, { answers: JSON.stringify(changed) })
    return { commentId, answer }
  }
  throw invalid('commentId', 'must be the ID of a comment that you received')
}
