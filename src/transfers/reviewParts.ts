import { exportReviews } from '../store/projects/exports.ts'
import { entriesOf } from '../store/engine/record.ts'
import { insertReview, insertReviewComment } from '../store/forges/reviews.ts'
import { part, readByCards } from './part.ts'
import { Review } from './records.ts'

const { item: Comment } = Review.entries.comments.wrapped.pipe[0]
const readReviewRecords = exportReviews(entriesOf(Review), entriesOf(Comment))

/** Reviews with their comments and the agents' answers. The reviewed files stay in the original repository. */
export const reviews = part({
  name: 'reviews',
  schema: Review,
  maxRecords: 1_000_000,
  read: readByCards(500, readReviewRecords),
  check: ({ cardId }, known) => void known.find('cards', cardId, 'cardId'),
  write: async (tx, { comments, ...review }, made) => {
    const card = made.rows.cards.get(review.cardId)
    if (!card) return
    const reviewId = await insertReview(tx, { ...review, cardId: card.id })
    for (const comment of comments) await insertReviewComment(tx, { ...comment, reviewId })
  },
})
