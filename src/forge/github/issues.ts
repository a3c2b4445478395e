import * as v from 'valibot'
import type { ForgeAddress } from '../forge.ts'
import { Anything, Name } from '../forgeFields.ts'
import type { ForgeHttp } from '../forgeHttp.ts'
import { Author, issueFields, toForgeIssue, type IssuePart } from '../gitHubCompatible.ts'

const Label = v.union([
  Name,
  v.pipe(
    v.object({ name: v.nullish(Name, '') }),
    v.transform(({ name }) => name),
  ),
])
const Issue = v.object({
  ...issueFields,
  labels: v.array(Label),
  user: Author,
  pull_request: v.optional(v.unknown()),
})

/** Issues of a repository on GitHub, where each pull request is also an issue. */
export function gitHubIssues(http: ForgeHttp, address: ForgeAddress): IssuePart {
  const issues = `/repos/${address.repository}/issues`
  const toIssue = (issue: v.InferOutput<typeof Issue>) => toForgeIssue(issue, issue.labels.filter(Boolean), address)
  return {
    listIssues: async ({ label, since }) => {
      const query = { labels: label, since, state: 'all', sort: 'updated', direction: 'asc', per_page: 100 }
      const found = await http.list(issues, v.array(Issue), query)
      return found.filter(({ pull_request }) => pull_request === undefined).map(toIssue)
    },
    readIssue: async number => toIssue(await http.get(`${issues}/${number}`, Issue)),
    closeIssue: async number => {
      await http.send('PATCH', `${issues}/${number}`, { state: 'closed', state_reason: 'completed' }, Anything)
    },
    reopenIssue: async number => {
      await http.send('PATCH', `${issues}/${number}`, { state: 'open' }, Anything)
    },
  }
}
