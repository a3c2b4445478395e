import * as v from 'valibot'
import { Count, Id, integer, isVisible, Prompt, queryRefTo, text, Time } from '../fields.ts'
import { ofCard } from '../notFound.ts'
import { RepositoryRef } from './repositories.ts'
import { get, member, post, put, viewer } from '../route.ts'

/**
 * A review's limits. `maxTextLength`: the number of characters that are kept of the commented lines. `maxLength`: all texts of a
 * review together, because an agent reads them as one message. `maxLengthOfCard`: all reviews of a card together, because they
 * are listed at once.
 */
export const reviewLimits = {
  maxComments: 200,
  maxCommentLength: 16_384,
  maxTextLength: 4096,
  maxLength: 262_144,
  maxLengthOfCard: 2_097_152,
} as const

const Line = integer(1, 100_000_000)
/** The version of a file in which a line is counted: before the card's changes, or with them. */
const Side = v.picklist(['old', 'new'], 'must be old or new')
export const Verdict = v.picklist(
  ['comment', 'request_changes', 'approve'],
  'must be comment, request_changes or approve',
)
export type Verdict = v.InferOutput<typeof Verdict>
const NewComment = v.strictObject({
  repository: RepositoryRef,
  path: text(1, 4096),
  side: v.optional(Side, 'new'),
  startLine: v.optional(v.nullable(Line), null),
  line: Line,
  body: v.pipe(text(1, reviewLimits.maxCommentLength), v.check(isVisible, 'must contain a visible character')),
})
export type NewComment = v.InferOutput<typeof NewComment>
export const NewComments = v.pipe(
  v.array(NewComment),
  v.maxLength(reviewLimits.maxComments, `must have at most ${reviewLimits.maxComments} comments`),
)

/** The files of a repository that an author has read: the snapshot of its diff. */
const Seen = v.strictObject({ repository: RepositoryRef, snapshot: text(1, 64) })
export type Seen = v.InferOutput<typeof Seen>

/** A user's unsent review of a card. `updatedAt` is null if there is no draft. */
const Draft = v.object({
  body: v.string(),
  comments: v.array(
    v.object({
      repository: v.string(),
      path: v.string(),
      side: Side,
      startLine: v.nullable(Count),
      line: Count,
      body: v.string(),
    }),
  ),
  updatedAt: v.nullable(Time),
})
/** A comment on lines of a file, with their text at that time, and the agent's answer. */
export const ReviewComment = v.object({
  id: Id,
  /** Empty for the project's home. */
  repository: v.string(),
  path: v.string(),
  side: Side,
  startLine: Count,
  line: Count,
  text: v.string(),
  body: v.string(),
  answer: v.nullable(v.string()),
  answeredAt: v.nullable(Time),
  resolvedAt: v.nullable(Time),
})
/** `round` is one more than the number of earlier reviews that requested changes. Commits are null without Git. */
export const Review = v.object({
  id: Id,
  cardId: Id,
  round: Count,
  verdict: Verdict,
  body: v.string(),
  author: v.object({ userId: v.nullable(Id), displayName: v.string() }),
  baseCommit: v.nullable(v.string()),
  headCommit: v.nullable(v.string()),
  comments: v.array(ReviewComment),
  createdAt: Time,
})
export const AnsweredComment = v.object({ ...ReviewComment.entries, reviewId: Id, cardId: Id })

export const reviews = {
  getDraft: get('/api/projects/{projectId}/cards/{cardId}/reviews/draft', {
    notFound: ofCard,
    who: member('cards.update'),
    summary: "Get the caller's draft review of a card",
    output: Draft,
  }),
  putDraft: put('/api/projects/{projectId}/cards/{cardId}/reviews/draft', {
    notFound: ofCard,
    who: member('cards.update'),
    summary: "Save the caller's draft review of a card",
    details: 'An empty draft is deleted.',
    input: v.strictObject({ body: v.optional(Prompt, ''), comments: v.optional(NewComments, []) }),
    output: Draft,
  }),
  changedFile: get('/api/projects/{projectId}/cards/{cardId}/diff/file', {
    notFound: ofCard,
    at: 'machine',
    who: viewer('agents.read'),
    fails: ['NOT_A_GIT_REPOSITORY', 'CONFLICT', 'REVIEW_NOT_FOUND', 'FILE_NOT_FOUND'],
    summary: 'Get a file that a card changed, before or after the change, as Base64',
    details: 'The maximum is 2 MiB.',
    input: v.strictObject({
      path: text(1, 4096),
      side: v.optional(Side, 'new'),
      since: v.optional(queryRefTo('REVIEW_NOT_FOUND')),
      repository: RepositoryRef,
    }),
    output: v.object({ content: v.string() }),
  }),
  list: get('/api/projects/{projectId}/cards/{cardId}/reviews', {
    notFound: ofCard,
    who: viewer('cards.read'),
    tool: { name: 'list_reviews', title: 'List reviews', group: 'find', does: 'reads' },
    summary: "List a card's reviews, oldest first",
    output: v.array(Review),
  }),
  create: post('/api/projects/{projectId}/cards/{cardId}/reviews', {
    fails: ['AGENT_UNAVAILABLE', 'AGENT_ALREADY_RUNNING', 'CARD_BLOCKED', 'BUDGET_EXHAUSTED'],
    notFound: ofCard,
    audited: { target: 'card', detail: ['verdict'] },
    at: 'machine',
    who: member('cards.update'),
    tool: { name: 'review_card', title: 'Review a card', group: 'review', does: 'changes', openWorld: true },
    summary: "Submit a review of a card's changes",
    details:
      "The default is the caller's draft. request_changes requires agents.run and becomes the agent's next message. With seen, the review is rejected if the files of a repository are no longer those of the diff with this snapshot.",
    input: v.strictObject({
      verdict: Verdict,
      seen: v.optional(v.pipe(v.array(Seen), v.maxLength(100))),
      body: v.optional(Prompt),
      comments: v.optional(NewComments),
    }),
    output: Review,
    idempotent: true,
    status: 201,
    emits: ['review.submitted', 'card.updated'],
  }),
}
