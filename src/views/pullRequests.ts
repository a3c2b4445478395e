import type { InferOutput } from 'valibot'
import { ListedPullRequest as Listed, PullRequest, PullRequestOfCard } from '../contract/forges/pullRequestRecords.ts'
import { pullRequestFields, type ListedPullRequest, type PullRequestRow } from '../store/forges/pullRequests.ts'
import { viewOf } from './view.ts'

export const pullRequest: (row: PullRequestRow) => PullRequest = viewOf(pullRequestFields, PullRequest, 'text')
/** A pull request with the card that it belongs to. */
export const pullRequestOfCard: (row: PullRequestRow) => PullRequestOfCard = viewOf(
  pullRequestFields,
  PullRequestOfCard,
  'text',
)
/** A pull request with the card's title. */
export const listedPullRequest: (row: ListedPullRequest) => InferOutput<typeof Listed> = viewOf(
  pullRequestFields,
  Listed,
  'text',
  ({ cardTitle }: ListedPullRequest) => ({ cardTitle }),
)
