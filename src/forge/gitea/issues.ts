import * as v from 'valibot'
import type { ForgeAddress } from '../forge.ts'
import { Anything, Name } from '../forgeFields.ts'
import type { ForgeHttp } from '../forgeHttp.ts'
import { Author, issueFields, toForgeIssue, type IssuePart } from '../gitHubCompatible.ts'
import { pageSize } from './pageSize.ts'

const Issue = v.object({
  ...issueFields,
  labels: v.nullish(v.array(v.object({ name: Name })), []),
  user: Author,
  pull_request: v.nullish(v.unknown()),
})

/** Issues of a repository on Gitea or Forgejo. */
export function giteaIssues(http: ForgeHttp, address: ForgeAddress): IssuePart {
  const issues = `/repos/${address.repository}/issues`
  const toIssue = (issue: v.InferOutput<typeof Issue>) =>
    toForgeIssue(
      issue,
      (issue.labels ?? []).map(({ name }) => name),
      address,
    )
  const change = async (number: number, state: 'open' | 'closed') => {
    await http.send('PATCH', `${issues}/${number}`, { state }, Anything)
  }
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
  }
}
