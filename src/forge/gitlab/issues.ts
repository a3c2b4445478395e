import * as v from 'valibot'
import type { Forge, ForgeAddress, ForgeIssue } from '../forge.ts'
import { Anything, Body, Count, Moment, Name, PageUrl, Title } from '../forgeFields.ts'
import type { ForgeHttp } from '../forgeHttp.ts'
import { Author, projectPath } from './fields.ts'

const Issue = v.object({
  iid: Count,
  web_url: PageUrl,
  title: Title,
  description: Body,
  state: v.picklist(['opened', 'closed']),
  labels: v.array(Name),
  author: Author,
  updated_at: Moment,
})

type IssuePart = Pick<
  Forge,
  'listIssues' | 'readIssue' | 'closeIssue' | 'reopenIssue' | 'editIssueComment' | 'deleteIssueComment'
>

/** Issues of a project on GitLab. */
export function gitLabIssues(http: ForgeHttp, address: ForgeAddress): IssuePart {
  const issues = `${projectPath(address)}/issues`
  const toIssue = (issue: v.InferOutput<typeof Issue>) => issueAt(issue, address)
  const change = async (number: number, event: 'close' | 'reopen') => {
    await http.send('PUT', `${issues}/${number}`, { state_event: event }, Anything)
  }
  const notePath = (number: number, id: string) => `${issues}/${number}/notes/${id.replace(/^note:/, '')}`
  return {
    listIssues: async ({ label, since }) => {
      const query = {
        labels: label,
        updated_after: since,
        scope: 'all',
        order_by: 'updated_at',
        sort: 'asc',
        per_page: 100,
      }
      return (await http.list(issues, v.array(Issue), query)).map(toIssue)
    },
    readIssue: async number => toIssue(await http.get(`${issues}/${number}`, Issue)),
    closeIssue: number => change(number, 'close'),
    reopenIssue: number => change(number, 'reopen'),
    editIssueComment: async (number, id, body) => {
      await http.send('PUT', notePath(number, id), { body }, Anything)
    },
    deleteIssueComment: async (number, id) => {
      await http.send('DELETE', notePath(number, id), {}, Anything)
    },
  }
}

const issueAt = (issue: v.InferOutput<typeof Issue>, { webUrl, repository }: ForgeAddress): ForgeIssue => ({
  number: issue.iid,
  url: issue.web_url ?? `${webUrl}/${repository}/-/issues/${issue.iid}`,
  title: issue.title,
  body: issue.description,
  state: issue.state === 'opened' ? 'open' : 'closed',
  labels: issue.labels,
  author: issue.author,
  updatedAt: issue.updated_at,
})
