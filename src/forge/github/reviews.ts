import * as v from 'valibot'
import type { ReviewVerdict } from '../../contract/forges/pullRequestRecords.ts'
import { ForgeFailed, type ForgeComment } from '../forge.ts'
import { Body, Count, Moment, Name, PageUrl, Sha } from '../forgeFields.ts'
import type { ForgeHttp } from '../forgeHttp.ts'
import { Author, Comment, reviewToComment, toComment, type CommentPart, type ReviewPart } from '../gitHubCompatible.ts'
import { byTime, newestVerdicts } from '../reviewOrder.ts'
import { graphUrl } from './pulls.ts'

/** The query of a page of the maximum size. */
export const all = { per_page: 100 }

const Review = v.object({
  id: Count,
  user: Author,
  body: Body,
  state: v.string(),
  html_url: PageUrl,
  author_association: v.string(),
  submitted_at: v.optional(Moment),
  commit_id: v.nullish(Sha),
})
const LineComment = v.object({
  ...Comment.entries,
  path: Name,
  line: v.nullish(Count),
  original_line: v.nullish(Count),
  pull_request_review_id: v.nullish(Count),
  in_reply_to_id: v.optional(Count),
})
const Threads = v.object({
  data: v.object({
    repository: v.object({
      pullRequest: v.object({
        reviewThreads: v.object({
          nodes: v.array(
            v.object({
              isResolved: v.boolean(),
              comments: v.object({ nodes: v.array(v.object({ databaseId: v.nullish(Count) })) }),
            }),
          ),
        }),
      }),
    }),
  }),
})

/** Authors whose verdicts count. In a public repository, every user can request changes. */
const trusted: ReadonlySet<string> = new Set(['OWNER', 'MEMBER', 'COLLABORATOR'])
/** PENDING reviews are not submitted yet. */
const verdicts: Readonly<Record<string, ReviewVerdict>> = {
  APPROVED: 'approved',
  CHANGES_REQUESTED: 'changes_requested',
  COMMENTED: 'commented',
  DISMISSED: 'dismissed',
}
const threadsQuery = `query($owner: String!, $name: String!, $number: Int!) { repository(owner: $owner, name: $name) {
  pullRequest(number: $number) { reviewThreads(last: 100) { nodes { isResolved comments(first: 1) { nodes { databaseId } } } } } } }`

/** Reviews, and comments on pull requests. */
export function gitHubReviews(http: ForgeHttp, repo: string, apiUrl: string, comments: CommentPart): ReviewPart {
  const reviews = async (number: number) =>
    (await http.list(`${repo}/pulls/${number}/reviews`, v.array(Review), all)).flatMap(
      ({ id, user, body, state, html_url, author_association, submitted_at, commit_id }) => {
        const reported = verdicts[state]
        const verdict = reported && !trusted.has(author_association) ? 'commented' : reported
        if (verdict === undefined || submitted_at === undefined) return []
        const place = { submittedAt: submitted_at, commit: commit_id ?? null, url: html_url }
        return [{ id: `${id}`, state: verdict, author: user, body, ...place }]
      },
    )
  return {
    listReviews: async number => newestVerdicts(await reviews(number)),
    listPullComments: async number => {
      const [lines, general, submitted] = await Promise.all([
        http.list(`${repo}/pulls/${number}/comments`, v.array(LineComment), all),
        comments.listIssueComments(number),
        reviews(number),
      ])
      const resolved = lines.length > 0 ? await resolvedThreads(http, repo, apiUrl, number) : new Set<number>()
      const remarks = submitted.filter(({ state, body }) => state === 'commented' && body !== '')
      return [...lines.map(line => lineToComment(line, resolved)), ...general, ...remarks.map(reviewToComment)].sort(
        byTime,
      )
    },
    commentOnPull: async (number, body, to) => {
      // Only a thread's first comment accepts answers.
      const root = /^line:(\d+):\d+$/.exec(to ?? '')?.[1]
      if (root === undefined) return comments.commentOnIssue(number, body)
      const path = `${repo}/pulls/${number}/comments/${root}/replies`
      return lineToComment(await http.send('POST', path, { body }, LineComment), new Set())
    },
  }
}

/** The ID includes the thread, because answers go there. */
function lineToComment(line: v.InferOutput<typeof LineComment>, resolved: ReadonlySet<number>): ForgeComment {
  const root = line.in_reply_to_id ?? line.id
  return {
    ...toComment(line),
    id: `line:${root}:${line.id}`,
    path: line.path,
    line: line.line ?? line.original_line ?? null,
    reviewId: typeof line.pull_request_review_id !== 'number' ? null : `${line.pull_request_review_id}`,
    inReplyTo: line.in_reply_to_id === undefined ? null : `line:${root}:${root}`,
    resolved: resolved.has(root),
  }
}

/** The first comments of resolved threads, which the REST API does not report. Empty if the token lacks the permission. */
async function resolvedThreads(http: ForgeHttp, repo: string, apiUrl: string, number: number): Promise<Set<number>> {
  const [owner, name] = repo.split('/').slice(2)
  try {
    const { data } = await http.send(
      'POST',
      graphUrl(apiUrl),
      { query: threadsQuery, variables: { owner, name, number } },
      Threads,
    )
    const threads = data.repository.pullRequest.reviewThreads.nodes.filter(({ isResolved }) => isResolved)
    return new Set(threads.flatMap(({ comments }) => comments.nodes.map(({ databaseId }) => databaseId ?? 0)))
  } catch (error) {
    if (error instanceof ForgeFailed && ['refused', 'missing', 'odd'].includes(error.reason)) return new Set()
    throw error
  }
}
