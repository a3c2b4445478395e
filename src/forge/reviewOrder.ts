import type { ForgeComment, ForgeReview } from './forge.ts'

/** Returns the newest relevant review of each author. A verdict takes precedence over later remarks. */
export function newestVerdicts<R extends ForgeReview>(reviews: readonly R[]): R[] {
  const newest = new Map<string, R>()
  for (const review of reviews.toSorted((a, b) => a.submittedAt.localeCompare(b.submittedAt))) {
    const before = newest.get(review.author)
    if (review.state !== 'commented' || before === undefined || before.state === 'commented')
      newest.set(review.author, review)
  }
  return [...newest.values()]
}

export const byTime = (a: ForgeComment, b: ForgeComment): number => a.createdAt.localeCompare(b.createdAt)
