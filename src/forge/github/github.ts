import type { Forge, ForgeAddress } from '../forge.ts'
import { createForgeHttp, type ForgeOptions } from '../forgeHttp.ts'
import { issueComments } from '../gitHubCompatible.ts'
import { gitHubChecks } from './checks.ts'
import { gitHubIssues } from './issues.ts'
import { gitHubPulls } from './pulls.ts'
import { all, gitHubReviews } from './reviews.ts'

/**
 * A repository on GitHub or GitHub Enterprise Server, through the REST API, and through GraphQL for features that REST
 * lacks.
 */
export function gitHub(address: ForgeAddress, token: string, options: ForgeOptions): Forge {
  const headers = {
    accept: 'application/vnd.github+json',
    authorization: `Bearer ${token}`,
    'x-github-api-version': '2022-11-28',
  }
  const http = createForgeHttp({ kind: address.kind, apiUrl: address.apiUrl, headers, token }, options)
  const repo = `/repos/${address.repository}`
  const comments = issueComments(http, repo, all)
  return {
    ...gitHubPulls(http, address),
    ...gitHubChecks(http, repo),
    ...gitHubReviews(http, repo, address.apiUrl, comments),
    ...gitHubIssues(http, address),
    ...comments,
  }
}
