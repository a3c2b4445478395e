import * as v from 'valibot'
import { MergeMethod } from '../contract/forges/forge.ts'
import { CheckState, ReviewVerdict } from '../contract/forges/pullRequestRecords.ts'
import type { ForgePull } from './forge.ts'
import { Anything, Body, Branch, Count, Moment, Name, pageUrl, PageUrl, Sha, Title } from './forgeFields.ts'

const Id = v.pipe(
  v.string(),
  v.nonEmpty(),
  v.maxLength(255),
  v.regex(/^\P{Cc}*$/u, 'must not contain control characters'),
)
const Address = v.pipe(
  v.string(),
  v.transform(text => pageUrl(text)),
  v.string('must be an http or https address'),
)
const OrNull = <T extends v.GenericSchema>(schema: T) => v.optional(v.nullable(schema), null)

const Names = v.optional(v.pipe(v.array(Name), v.maxLength(100)), [])

const pull = {
  number: Count,
  url: Address,
  title: Title,
  body: Body,
  state: v.picklist(['open', 'merged', 'closed']),
  draft: v.optional(v.boolean(), false),
  base: Branch,
  branch: Branch,
  headCommit: Sha,
  reviewers: Names,
  labels: Names,
  mergeable: OrNull(v.boolean()),
  ready: OrNull(v.boolean()),
  mergeCommit: OrNull(Sha),
  updatedAt: Moment,
}
const Pull: v.GenericSchema<unknown, ForgePull> = v.object(pull)
const Check = v.object({ id: Id, name: Name, state: CheckState, url: PageUrl })
const Review = v.object({
  id: Id,
  author: Name,
  state: ReviewVerdict,
  body: Body,
  url: PageUrl,
  submittedAt: Moment,
  commit: OrNull(Sha),
})
const Comment = v.object({
  id: Id,
  author: Name,
  body: Body,
  path: OrNull(Name),
  line: OrNull(Count),
  reviewId: OrNull(Id),
  inReplyTo: OrNull(Id),
  resolved: v.optional(v.boolean(), false),
  createdAt: Moment,
  updatedAt: Moment,
})
const Issue = v.object({
  number: Count,
  url: Address,
  title: Title,
  body: Body,
  state: v.picklist(['open', 'closed']),
  labels: Names,
  author: Name,
  updatedAt: Moment,
})
const maxRecords = 2000
const all = <T extends v.GenericSchema>(schema: T) => v.pipe(v.array(schema), v.maxLength(maxRecords))

/** The allowed responses of a forge's command, by request (docs/forges.md). */
export const answers = {
  Account: v.pipe(
    v.object({ account: Name }),
    v.transform(({ account }) => account),
  ),
  Repository: v.object({
    defaultBranch: Branch,
    url: Address,
    mergeMethods: v.optional(v.array(MergeMethod), ['merge']),
  }),
  Pull,
  /** A pull request, and the fields that the forge did not accept. */
  TakenPull: v.object({ ...pull, notTaken: v.optional(v.pipe(v.array(Title), v.maxLength(100)), []) }),
  Nothing: v.pipe(
    Anything,
    v.transform(() => undefined),
  ),
  Merged: v.object({ commit: OrNull(Sha) }),
  Checks: v.pipe(
    v.object({ checks: all(Check) }),
    v.transform(({ checks }) => checks),
  ),
  Log: v.pipe(
    v.object({ log: v.nullable(v.string()) }),
    v.transform(({ log }) => log ?? undefined),
  ),
  Reviews: v.pipe(
    v.object({ reviews: all(Review) }),
    v.transform(({ reviews }) => reviews),
  ),
  Comment,
  Comments: v.pipe(
    v.object({ comments: all(Comment) }),
    v.transform(({ comments }) => comments),
  ),
  Issue,
  Issues: v.pipe(
    v.object({ issues: all(Issue) }),
    v.transform(({ issues }) => issues),
  ),
}

export const Unsupported = v.object({ unsupported: v.literal(true) })
export const Failed = v.object({
  error: v.object({
    reason: v.picklist(['unreachable', 'limited', 'refused', 'missing', 'invalid', 'conflict']),
    message: Title,
    /** When the forge can be queried again. */
    retryAt: v.optional(
      v.pipe(
        Moment,
        v.transform(text => Date.parse(text)),
      ),
    ),
  }),
})
