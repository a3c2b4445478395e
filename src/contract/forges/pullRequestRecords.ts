import * as v from 'valibot'
import { MergeMethod } from './forge.ts'
import { Count, Id, Time } from '../fields.ts'

export const CheckState = v.picklist(['pending', 'success', 'failure', 'neutral'])
export type CheckState = v.InferOutput<typeof CheckState>
const Check = v.object({ name: v.string(), state: CheckState, url: v.nullable(v.string()) })
export const ReviewVerdict = v.picklist(['approved', 'changes_requested', 'commented', 'dismissed'])
export type ReviewVerdict = v.InferOutput<typeof ReviewVerdict>
/** The newest review of each author on the forge. */
const ForgeReview = v.object({ author: v.string(), state: ReviewVerdict, url: v.nullable(v.string()) })
/** `creating`: the request to the forge was sent and has no response yet. */
export const PullRequestState = v.picklist(['creating', 'open', 'merged', 'closed'])
export type PullRequestState = v.InferOutput<typeof PullRequestState>

/** A card's pull request (a merge request on GitLab), in the last state that the board read. */
export const PullRequest = v.object({
  /** The repository of the project; '' is its home. */
  repository: v.string(),
  number: v.nullable(Count),
  url: v.nullable(v.string()),
  title: v.string(),
  state: PullRequestState,
  draft: v.boolean(),
  base: v.string(),
  branch: v.string(),
  headCommit: v.nullable(v.string()),
  /** Null if the forge has not determined it yet. */
  mergeable: v.nullable(v.boolean()),
  mergeCommit: v.nullable(v.string()),
  checks: v.array(Check),
  reviews: v.array(ForgeReview),
  /** Whether the pull request is merged as soon as the forge allows it. */
  autoMerge: v.boolean(),
  mergeMethod: MergeMethod,
  /** How often an agent resumed its work on the pull request, and why it no longer does. */
  rounds: Count,
  stopped: v.nullable(v.string()),
  /** When the board last read it from the forge, and the error of that read. */
  readAt: v.nullable(Time),
  problem: v.nullable(v.string()),
  createdAt: Time,
  updatedAt: Time,
})
export type PullRequest = v.InferOutput<typeof PullRequest>
/** A pull request with its card. */
export const PullRequestOfCard = v.object({ ...PullRequest.entries, cardId: Id })
export type PullRequestOfCard = v.InferOutput<typeof PullRequestOfCard>
export const ListedPullRequest = v.object({ ...PullRequestOfCard.entries, cardTitle: v.string() })

/** A card's summary of its newest pull request in the project's home. */
export const PullRequestSummary = v.object({
  number: v.nullable(Count),
  url: v.nullable(v.string()),
  state: PullRequestState,
  draft: v.boolean(),
  /** The summary of all checks: a failed check takes precedence over a pending one. Null if there are no checks. */
  checks: v.nullable(v.picklist(['pending', 'success', 'failure'])),
  review: v.nullable(v.picklist(['approved', 'changes_requested'])),
})
export type PullRequestSummary = v.InferOutput<typeof PullRequestSummary>
