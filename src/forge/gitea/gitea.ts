import type { Forge, ForgeAddress } from '../forge.ts'
import { createForgeHttp, type ForgeOptions } from '../forgeHttp.ts'
import { issueComments } from '../gitHubCompatible.ts'
import { giteaChecks } from './checks.ts'
import { all } from './pageSize.ts'
import { giteaIssues } from './issues.ts'
import { giteaPulls } from './pulls.ts'
import { giteaReviews } from './reviews.ts'

/** A repository on Gitea or Forgejo, through version 1 of the REST API, which both support. */
export function gitea(address: ForgeAddress, token: string, options: ForgeOptions): Forge {
  const headers = { authorization: `token ${token}` }
  const http = createForgeHttp({ kind: address.kind, apiUrl: address.apiUrl, headers, token }, options)
  const repo = `/repos/${address.repository}`
  const comments = issueComments(http, repo, all)
  return {
    ...giteaPulls(http, address),
    ...giteaChecks(http, repo, address.webUrl),
    ...giteaReviews(http, repo, comments),
    ...giteaIssues(http, address),
    ...comments,
  }
}
