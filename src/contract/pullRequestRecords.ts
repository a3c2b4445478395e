import * as v from 'valibot'
import { MergeMethod } from './forge.ts'
import { Count, Id, Time } from './fields.ts'

export const CheckState = v.picklist(['pending', 'success', 'failure', 'neutral'])
export type CheckState = v.InferOutput<typeof CheckState>
const Check = v.object({ name: v.string(), state: CheckState, url: v.nullable(v.string()) })
export const ReviewVerdict = v.picklist(['approved', 'changes_requested', 'commented', 'dismissed'])
export type ReviewVerdict = v.InferOutput<typeof ReviewVerdict>
/** The newest review of each author on the forge. */
const ForgeReview = v.object({ author: v.string(), state: ReviewVerdict, url: v.nullable(v.string()) })
/** `creating`: the forge was asked for it, and has not answered yet. */
export const PullRequestState = v.picklist(['creating', 'open', 'merged', 'closed'])
export type PullRequestState = v.InferOutput<typeof PullRequestState>

/** A card's pull request (a merge request on GitLab), as the board saw it last. */
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
  /** Null where the forge has not said yet. */
  mergeable: v.nullable(v.boolean()),
  mergeCommit: v.nullable(v.string()),
  checks: v.array(Check),
  reviews: v.array(ForgeReview),
  /** Whether it is merged as soon as the forge lets it. */
  autoMerge: v.boolean(),
  mergeMethod: MergeMethod,
  /** How often an agent was sent back to its work on it, and why it is not any more. */
  rounds: Count,
  stopped: v.nullable(v.string()),
  /** When the forge was asked last, and what it refused then. */
  readAt: v.nullable(Time),
  problem: v.nullable(v.string()),
  createdAt: Time,
  updatedAt: Time,
})
export type PullRequest = v.InferOutput<typeof PullRequest>
/** The same with its card. */
export const PullRequestOfCard = v.object({ ...PullRequest.entries, cardId: Id })
export type PullRequestOfCard = v.InferOutput<typeof PullRequestOfCard>
export const ListedPullRequest = v.object({ ...PullRequestOfCard.entries, cardTitle: v.string() })

/** What a card shows of its newest pull request in the project's home. */
export const PullRequestSummary = v.object({
  number: v.nullable(Count),
  url: v.nullable(v.string()),
  state: PullRequestState,
  draft: v.boolean(),
  /** Of all checks: one that fails goes before one that is pending. Null: there are none. */
  checks: v.nullable(v.picklist(['pending', 'success', 'failure'])),
  review: v.nullable(v.picklist(['approved', 'changes_requested'])),
})
export type PullRequestSummary = v.InferOutput<typeof PullRequestSummary>
