import * as v from 'valibot'
import type { ReviewVerdict } from '../../contract/forges/pullRequestRecords.ts'
import type { ForgeComment, ForgeReview } from '../forge.ts'
import { Body, Count, Moment, Name, PageUrl, Sha } from '../forgeFields.ts'
import type { ForgeHttp } from '../forgeHttp.ts'
import { Author, Comment, reviewToComment, toComment, type CommentPart, type ReviewPart } from '../gitHubCompatible.ts'
import { byTime, newestVerdicts } from '../reviewOrder.ts'
import { all } from './pageSize.ts'

const Review = v.object({
  id: Count,
  user: Author,
  body: Body,
  state: v.string(),
  html_url: PageUrl,
  submitted_at: Moment,
  commit_id: v.nullish(v.string(), ''),
  dismissed: v.optional(v.boolean(), false),
  official: v.optional(v.boolean(), false),
  comments_count: v.optional(Count, 0),
})
const LineComment = v.object({
  ...Comment.entries,
  path: Name,
  position: v.optional(Count, 0),
  original_position: v.optional(Count, 0),
  resolver: v.nullish(v.unknown()),
})
type LineComment = v.InferOutput<typeof LineComment>

/** PENDING reviews are not submitted yet. REQUEST_REVIEW requests a review. */
const verdicts: Readonly<Record<string, ReviewVerdict>> = {
  APPROVED: 'approved',
  REQUEST_CHANGES: 'changes_requested',
  COMMENT: 'commented',
}

/** `isOfficial`: the branch protection counts the approvals of this author. */
type OfficialReview = ForgeReview & { isOfficial: boolean; comments: number }

/** Reviews, and comments on pull requests, on Gitea or Forgejo. */
export function giteaReviews(http: ForgeHttp, repo: string, comments: CommentPart): ReviewPart {
  const lines = (number: number, review: string) =>
    http.list(`${repo}/pulls/${number}/reviews/${review}/comments`, v.array(LineComment), all)
  return {
    listReviews: async number =>
      (await readReviews(http, repo, number)).map(({ isOfficial: _, comments: __, ...review }) => review),
    listPullComments: async number => {
      const submitted = await allReviews(http, repo, number)
      const found: ForgeComment[] = await comments.listIssueComments(number)
      for (const { id, author, body, state, submittedAt, comments: count } of submitted) {
        if (count > 0) found.push(...(await lines(number, id)).map(line => lineToComment(id, line)))
        if (state === 'commented' && body !== '') found.push(reviewToComment({ id, author, body, submittedAt }))
      }
      return inThreads(found.sort(byTime))
    },
    commentOnPull: async (number, body, to) => {
      const [, review, id] = /^line:(\d+):(\d+)$/.exec(to ?? '') ?? []
      const line = review === undefined ? undefined : (await lines(number, review)).find(each => `${each.id}` === id)
      if (!line) return comments.commentOnIssue(number, body)
      // A thread consists of the comments on one line.
      const answer = { path: line.path, body, new_position: line.position || line.original_position }
      const made = await http.send(
        'POST',
        `${repo}/pulls/${number}/reviews`,
        { event: 'COMMENT', body: '', comments: [answer] },
        Review,
      )
      const posted = (await lines(number, `${made.id}`)).at(-1)
      return posted
        ? { ...lineToComment(`${made.id}`, posted), inReplyTo: to! }
        : {
            ...reviewToComment({ id: `${made.id}`, author: made.user, body, submittedAt: made.submitted_at }),
            reviewId: null,
          }
    },
  }
}

/** The newest relevant review of each author. */
export const readReviews = async (http: ForgeHttp, repo: string, number: number): Promise<OfficialReview[]> =>
  newestVerdicts(await allReviews(http, repo, number))

async function allReviews(http: ForgeHttp, repo: string, number: number): Promise<OfficialReview[]> {
  const reviews = await http.list(`${repo}/pulls/${number}/reviews`, v.array(Review), all)
  return reviews.flatMap(review => {
    const reported = verdicts[review.state]
    if (reported === undefined) return []
    // In a public repository, every user can request changes.
    const verdict = review.official ? reported : 'commented'
    return [
      {
        id: `${review.id}`,
        author: review.user,
        state: review.dismissed ? 'dismissed' : verdict,
        body: review.body,
        url: review.html_url,
        submittedAt: review.submitted_at,
        commit: v.is(Sha, review.commit_id) ? review.commit_id : null,
        isOfficial: review.official,
        comments: review.comments_count,
      },
    ]
  })
}

/** The comments on one line are a thread, in which all later comments answer the first one. */
function inThreads(comments: readonly ForgeComment[]): ForgeComment[] {
  const first = new Map<string, string>()
  return comments.map(comment => {
    if (comment.path === null) return comment
    const place = `${comment.path}\0${comment.line}`
    const root = first.get(place)
    if (root === undefined) first.set(place, comment.id)
    return { ...comment, inReplyTo: root ?? null }
  })
}

/** The ID includes the review, because the comment is only found there. */
const lineToComment = (review: string, line: LineComment): ForgeComment => ({
  ...toComment(line),
  id: `line:${review}:${line.id}`,
  path: line.path,
  line: line.position || line.original_position || null,
  reviewId: review,
  resolved: line.resolver !== undefined && line.resolver !== null,
})
