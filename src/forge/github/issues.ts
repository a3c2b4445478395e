import * as v from 'valibot'
import type { Forge, ForgeAddress, ForgeIssue } from '../forge.ts'
import { Anything, Body, Count, Moment, Name, PageUrl, Title } from '../forgeFields.ts'
import type { ForgeHttp } from '../forgeHttp.ts'
import { Author } from './reviews.ts'

const Label = v.union([
  Name,
  v.pipe(
    v.object({ name: v.nullish(Name, '') }),
    v.transform(({ name }) => name),
  ),
])
const Issue = v.object({
  number: Count,
  html_url: PageUrl,
  title: Title,
  body: Body,
  state: v.picklist(['open', 'closed']),
  labels: v.array(Label),
  user: Author,
  updated_at: Moment,
  pull_request: v.optional(v.unknown()),
})

type IssuePart = Pick<
  Forge,
  'listIssues' | 'readIssue' | 'closeIssue' | 'reopenIssue' | 'editIssueComment' | 'deleteIssueComment'
>

/** Issues of a repository on GitHub, where each pull request is also an issue. */
export function gitHubIssues(http: ForgeHttp, address: ForgeAddress): IssuePart {
  const repo = `/repos/${address.repository}`
  const toIssue = (issue: v.InferOutput<typeof Issue>) => issueAt(issue, address)
  const path = (number: number) => `${repo}/issues/${number}`
  const commentPath = (id: string) => `${repo}/issues/comments/${id.replace(/^comment:/, '')}`
  return {
    listIssues: async ({ label, since }) => {
      const query = { labels: label, since, state: 'all', sort: 'updated', direction: 'asc', per_page: 100 }
      const found = await http.list(`${repo}/issues`, v.array(Issue), query)
      return found.filter(({ pull_request }) => pull_request === undefined).map(toIssue)
    },
    readIssue: async number => toIssue(await http.get(path(number), Issue)),
    closeIssue: async number => {
      await http.send('PATCH', path(number), { state: 'closed', state_reason: 'completed' }, Anything)
    },
    reopenIssue: async number => {
      await http.send('PATCH', path(number), { state: 'open' }, Anything)
    },
    editIssueComment: async (_number, id, body) => {
      await http.send('PATCH', commentPath(id), { body }, Anything)
    },
    deleteIssueComment: async (_number, id) => {
      await http.send('DELETE', commentPath(id), {}, Anything)
    },
  }
}

const issueAt = (issue: v.InferOutput<typeof Issue>, { webUrl, repository }: ForgeAddress): ForgeIssue => ({
  number: issue.number,
  url: issue.html_url ?? `${webUrl}/${repository}/issues/${issue.number}`,
  title: issue.title,
  body: issue.body,
  state: issue.state,
  labels: issue.labels.filter(Boolean),
  author: issue.user,
  updatedAt: issue.updated_at,
})
