import type { PullRequestSummary } from '../contract/forges/pullRequestRecords.ts'

const checkWords = { pending: 'checks running', success: 'checks passed', failure: 'checks failed' } as const
const reviewWords = { approved: 'approved', changes_requested: 'changes requested' } as const

/** A card's summary of its pull request: "#12 open, checks failed, approved". */
export function pullRequestWords({ number, state, draft, checks, review }: PullRequestSummary): string {
  const what = state === 'open' && draft ? 'draft' : state
  const more = state === 'open' ? [checks && checkWords[checks], review && reviewWords[review]] : []
  return [`${number === null ? 'pull request' : `#${number}`} ${what}`, ...more].filter(Boolean).join(', ')
}

/** The state of a pull request as one sign: the worst of its parts. */
export const pullRequestSign = ({ state, checks, review }: PullRequestSummary): 'good' | 'bad' | 'waits' | 'over' =>
  state === 'merged' || state === 'closed'
    ? 'over'
    : checks === 'failure' || review === 'changes_requested'
      ? 'bad'
      : checks === 'pending' || state === 'creating'
        ? 'waits'
        : 'good'
