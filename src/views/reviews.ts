import type { InferOutput } from 'valibot'
import { AnsweredComment, Review, ReviewComment } from '../contract/forges/reviews.ts'
import { reviewCommentFields, reviewFields, type ReviewCommentRow, type ReviewRow } from '../store/forges/reviews.ts'
import { viewOf } from './view.ts'

const reviewComment: (row: ReviewCommentRow) => InferOutput<typeof ReviewComment> = viewOf(
  reviewCommentFields,
  ReviewComment,
  'text',
)
/** A comment with the review and the card that it belongs to. */
export const answeredComment: (row: ReviewCommentRow) => InferOutput<typeof AnsweredComment> = viewOf(
  reviewCommentFields,
  AnsweredComment,
  'text',
)
export const review: (row: ReviewRow & { comments: ReviewCommentRow[] }) => InferOutput<typeof Review> = viewOf(
  reviewFields,
  Review,
  'text',
  ({ authorId, authorName, comments }: ReviewRow & { comments: ReviewCommentRow[] }) => ({
    author: { userId: authorId === null ? null : String(authorId), displayName: authorName },
    comments: comments.map(reviewComment),
  }),
)
