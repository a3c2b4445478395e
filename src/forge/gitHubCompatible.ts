import * as v from 'valibot'
import { MergeMethod } from '../contract/forges/forge.ts'
import {
  ForgeFailed,
  type Forge,
  type ForgeAddress,
  type ForgeComment,
  type ForgeIssue,
  type ForgeReview,
  type PullChange,
  type PullPart,
} from './forge.ts'
import { Anything, Body, Count, Moment, Name, PageUrl, Title } from './forgeFields.ts'
import type { ForgeHttp } from './forgeHttp.ts'

/** The parts of GitHub's API that Gitea's API shares. */
const Person = v.object({ login: Name })
/** The requested reviewers of a pull request. */
export const RequestedReviewers = v.pipe(
  v.nullish(v.array(Person), []),
  v.transform(people => (people ?? []).map(({ login }) => login)),
)

export const readLogin = async (http: ForgeHttp): Promise<string> => (await http.get('/user', Person)).login

/** Converts a repository of the API. `allows` has the ways to merge; undefined means that the API does not report one. */
export const toRepository = (
  { default_branch: defaultBranch, html_url }: { default_branch: string; html_url?: string | null },
  { webUrl, repository }: ForgeAddress,
  allows: Readonly<Record<MergeMethod, boolean | undefined>>,
): Awaited<ReturnType<PullPart['repository']>> => ({
  defaultBranch,
  url: html_url ?? `${webUrl}/${repository}`,
  mergeMethods: MergeMethod.options.filter(method => allows[method] !== false),
})

export async function closePull(http: ForgeHttp, pullPath: string): Promise<void> {
  await http.send('PATCH', pullPath, { state: 'closed' }, Anything)
}

/** Names of people and repositories are case-insensitive. */
export const isSame = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase()

/**
 * Requests reviews from people, and withdraws other requests.
 * @param present the current reviewers
 * @returns why some were not accepted
 */
export async function changeReviewers(
  http: ForgeHttp,
  pullPath: string,
  present: readonly string[],
  { addReviewers: wanted = [], removeReviewers: unwanted = [] }: PullChange,
): Promise<string[]> {
  const change = async (method: 'POST' | 'DELETE', reviewers: readonly string[]) =>
    reviewers.length === 0
      ? []
      : ignoredFailure(http.send(method, `${pullPath}/requested_reviewers`, { reviewers }, Anything))
  const added = wanted.filter(name => !present.some(each => isSame(each, name)))
  const removed = present.filter(name => unwanted.some(each => isSame(each, name)))
  return [...(await change('POST', added)), ...(await change('DELETE', removed))]
}

/** Why a forge did not accept an optional change. @throws other errors */
export async function ignoredFailure(change: Promise<unknown>): Promise<string[]> {
  try {
    await change
    return []
  } catch (error) {
    if (error instanceof ForgeFailed) return [error.message]
    throw error
  }
}

export type IssuePart = Pick<Forge, 'listIssues' | 'readIssue' | 'closeIssue' | 'reopenIssue'>
export type ReviewPart = Pick<Forge, 'listReviews' | 'listPullComments' | 'commentOnPull'>
export type CommentPart = Pick<
  Forge,
  'listIssueComments' | 'commentOnIssue' | 'editIssueComment' | 'deleteIssueComment'
>

/** The name of an account. A deleted account has a name without a login, or none. */
export const Author = v.pipe(
  v.nullish(v.object({ login: Name }), null),
  v.transform(user => user?.login || 'ghost'),
)
export const Comment = v.object({ id: Count, user: Author, body: Body, created_at: Moment, updated_at: Moment })
export type Comment = v.InferOutput<typeof Comment>

const withoutLine = { path: null, line: null, reviewId: null, inReplyTo: null, resolved: false } as const

/** Converts a comment that is not on a line. */
export const toComment = ({ id, user, body, created_at, updated_at }: Comment): ForgeComment => ({
  ...withoutLine,
  id: `comment:${id}`,
  author: user,
  body,
  createdAt: created_at,
  updatedAt: updated_at,
})

/** The text of a review as a comment. */
export const reviewToComment = ({
  id,
  author,
  body,
  submittedAt,
}: Pick<ForgeReview, 'id' | 'author' | 'body' | 'submittedAt'>): ForgeComment => ({
  ...withoutLine,
  id: `review:${id}`,
  author,
  body,
  reviewId: id,
  createdAt: submittedAt,
  updatedAt: submittedAt,
})

/** The fields of an issue that both APIs have. */
export const issueFields = {
  number: Count,
  html_url: PageUrl,
  title: Title,
  body: Body,
  state: v.picklist(['open', 'closed']),
  updated_at: Moment,
}

/** Converts an issue of the API. */
export const toForgeIssue = (
  issue: v.InferOutput<v.ObjectSchema<typeof issueFields, undefined>> & { user: string },
  labels: string[],
  { webUrl, repository }: ForgeAddress,
): ForgeIssue => ({
  number: issue.number,
  url: issue.html_url ?? `${webUrl}/${repository}/issues/${issue.number}`,
  title: issue.title,
  body: issue.body,
  state: issue.state,
  labels,
  author: issue.user,
  updatedAt: issue.updated_at,
})

/**
 * Comments on issues, and on pull requests as a whole, which have a number like issues.
 * @param all the query of a page of the maximum size
 */
export function issueComments(http: ForgeHttp, repo: string, all: Readonly<Record<string, number>>): CommentPart {
  const issues = `${repo}/issues`
  const path = (id: string) => `${issues}/comments/${id.replace(/^comment:/, '')}`
  return {
    listIssueComments: async (number, since) =>
      (await http.list(`${issues}/${number}/comments`, v.array(Comment), { ...all, since })).map(toComment),
    commentOnIssue: async (number, body) =>
      toComment(await http.send('POST', `${issues}/${number}/comments`, { body }, Comment)),
    editIssueComment: async (_number, id, body) => {
      await http.send('PATCH', path(id), { body }, Anything)
    },
    deleteIssueComment: async (_number, id) => {
      await http.send('DELETE', path(id), {}, Anything)
    },
  }
}
