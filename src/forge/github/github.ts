import type { Forge, ForgeAddress } from '../forge.ts'
import { createForgeHttp, type ForgeOptions } from '../forgeHttp.ts'
import { gitHubChecks } from './checks.ts'
import { gitHubIssues } from './issues.ts'
import { gitHubPulls } from './pulls.ts'
import { gitHubReviews } from './reviews.ts'

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
  return {
    ...gitHubPulls(http, address),
    ...gitHubChecks(http, repo),
    ...gitHubReviews(http, repo, address.apiUrl),
    ...gitHubIssues(http, address),
  }
}
