import * as v from 'valibot'
import { reviewLimits, NewComments } from '../../src/contract/forges/reviews.ts'
import { text } from '../../src/contract/fields.ts'
import { submitGateReview } from '../../src/gates/submitGateReview.ts'
import { review } from '../../src/views/reviews.ts'
import { defineTool, json } from './tool.ts'

/** The answer of a gate's reviewer. */
export const submitReview = defineTool({
  name: 'submit_review',
  card: 'own',
  at: 'machine',
  description:
    'Submit your review of the changes, once. approve: the work is acceptable. request_changes: the author must change it first. Comment on the lines that must change.',
  entries: {
    verdict: v.picklist(['approve', 'request_changes'], 'must be approve or request_changes'),
    summary: v.pipe(
      text(1, reviewLimits.maxCommentLength),
      v.description('Your findings and the necessary changes, for the author and for people.'),
    ),
    comments: v.optional(NewComments, []),
  },
  run: async ({ db, worktrees, logs: { log } }, ref, { summary: body, ...given }, caller) =>
    json(review(await submitGateReview({ db, worktrees, log }, { ...ref, caller }, { ...given, body }))),
})
