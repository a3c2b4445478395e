import * as v from 'valibot'
import type { Forge, ForgeAddress, ForgeIssue } from '../forge.ts'
import { Anything, Body, Count, Moment, Name, PageUrl, Title } from '../forgeFields.ts'
import type { ForgeHttp } from '../forgeHttp.ts'
import { Author, pageSize } from './fields.ts'

const Issue = v.object({
  number: Count,
  html_url: PageUrl,
  title: Title,
  body: Body,
  state: v.picklist(['open', 'closed']),
  labels: v.nullish(v.array(v.object({ name: Name })), []),
  user: Author,
  updated_at: Moment,
  pull_request: v.nullish(v.unknown()),
})

type IssuePart = Pick<
  Forge,
  'listIssues' | 'readIssue' | 'closeIssue' | 'reopenIssue' | 'editIssueComment' | 'deleteIssueComment'
>

/** Issues of a repository on Gitea or Forgejo. */
export function giteaIssues(http: ForgeHttp, address: ForgeAddress): IssuePart {
  const issues = `/repos/${address.repository}/issues`
  const toIssue = (issue: v.InferOutput<typeof Issue>) => issueAt(issue, address)
  const change = async (number: number, state: 'open' | 'closed') => {
    await http.send('PATCH', `${issues}/${number}`, { state }, Anything)
  }
  const commentPath = (id: string) => `${issues}/comments/${id.replace(/^comment:/, '')}`
  return {
    listIssues: async ({ label, since }) => {
      const query = { labels: label, since, type: 'issues', state: 'all', limit: pageSize }
      const found = await http.list(issues, v.array(Issue), query)
      return (
        found
          // Gitea cannot sort by the time of change, and older versions treat a missing label name as no filter.
          .filter(issue => !issue.pull_request && issue.labels?.some(({ name }) => name === label))
          .map(toIssue)
          .sort((a, b) => a.updatedAt.localeCompare(b.updatedAt))
      )
    },
    readIssue: async number => toIssue(await http.get(`${issues}/${number}`, Issue)),
    closeIssue: number => change(number, 'closed'),
    reopenIssue: number => change(number, 'open'),
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
  labels: (issue.labels ?? []).map(({ name }) => name),
  author: issue.user,
  updatedAt: issue.updated_at,
})
