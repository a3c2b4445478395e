import { add, checkOfReviewer, keepReviewed, type ReviewWithComments } from '../cardWork/reviews.ts'
import type { Log } from '../config/log.ts'
import { Problem } from '../contract/errors.ts'
import type { NewComment, Verdict } from '../contract/forges/reviews.ts'
import type { Caller } from '../domain/accounts/caller.ts'
import type { CardRef } from '../domain/cards/cards.ts'
import { find as findProject } from '../domain/projects/projects.ts'
import { readSession } from '../store/agents/sessions.ts'
import type { Database } from '../store/engine/database.ts'
import { readReviewOfSession } from '../store/forges/reviews.ts'
import type { Worktrees } from '../worktrees/worktrees.ts'

const notReviewing = 'Only the reviewer of a gate can submit a review in this way.'

/**
 * Adds the review of a gate's reviewer, which decides the gate when its session ends.
 * @throws Problem CARD_NOT_FOUND; VALIDATION_FAILED for a comment on a line that is not in the changes; CONFLICT if the caller is not a
 * reviewer at work, or has already submitted its review
 */
export async function submitGateReview(
  { db, worktrees, log }: { db: Database; worktrees: Worktrees; log: Log },
  ref: CardRef & { caller: Caller },
  given: { verdict: Verdict; body: string; comments: NewComment[] },
): Promise<ReviewWithComments> {
  const { sessionId = null, isReviewer = false } = ref.caller.agent ?? {}
  if (!isReviewer || sessionId === null) throw new Problem('CONFLICT', notReviewing)
  const project = await findProject(db, ref.projectId)
  const checked = await checkOfReviewer(worktrees, db, ref, project, { ...given, sessionId })
  const added = await db.transaction(async tx => {
    const session = await readSession(tx, sessionId)
    if (!session || session.endedAt !== null) throw new Problem('CONFLICT', notReviewing)
    if (await readReviewOfSession(tx, sessionId))
      throw new Problem('CONFLICT', 'You have already submitted your review. End your turn.')
    return add(tx, ref, checked)
  })
  await keepReviewed(log, project, added, checked)
  return added
}
