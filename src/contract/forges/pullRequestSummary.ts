import type { PullRequest, PullRequestSummary } from './pullRequestRecords.ts'

/** The state of all checks: a failed one takes precedence over a pending one. Null without checks. */
export function checksOfAll(checks: PullRequest['checks']): PullRequestSummary['checks'] {
  const states = new Set(checks.map(({ state }) => state))
  if (states.has('failure')) return 'failure'
  if (states.has('pending')) return 'pending'
  return states.size > 0 ? 'success' : null
}

/** The verdict of all reviews: a request for changes takes precedence over an approval. Null without a verdict. */
export function reviewOfAll(reviews: PullRequest['reviews']): PullRequestSummary['review'] {
  const states = new Set(reviews.map(({ state }) => state))
  return states.has('changes_requested') ? 'changes_requested' : states.has('approved') ? 'approved' : null
}
