import * as v from 'valibot'
import { MergeMethod } from '../contract/forges/forge.ts'
import { ForgeFailed, type Forge, type ForgeAddress, type ForgeIssue, type PullChange } from './forge.ts'
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

/** The ways to merge that a repository does not exclude. */
export const allowedMethods = (allows: Readonly<Record<MergeMethod, boolean | undefined>>): MergeMethod[] =>
  MergeMethod.options.filter(method => allows[method] !== false)

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

export type IssuePart = Pick<
  Forge,
  'listIssues' | 'readIssue' | 'closeIssue' | 'reopenIssue' | 'editIssueComment' | 'deleteIssueComment'
>

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

/** The changes of comments on issues. `issues` is the path of the repository's issues. */
export function issueComments(http: ForgeHttp, issues: string): Pick<Forge, 'editIssueComment' | 'deleteIssueComment'> {
  const path = (id: string) => `${issues}/comments/${id.replace(/^comment:/, '')}`
  return {
    editIssueComment: async (_number, id, body) => {
      await http.send('PATCH', path(id), { body }, Anything)
    },
    deleteIssueComment: async (_number, id) => {
      await http.send('DELETE', path(id), {}, Anything)
    },
  }
}
