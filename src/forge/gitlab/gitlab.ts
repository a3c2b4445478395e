import type { Forge, ForgeAddress } from '../forge.ts'
import { createForgeHttp, type ForgeOptions } from '../forgeHttp.ts'
import { gitLabChecks } from './checks.ts'
import { gitLabIssues } from './issues.ts'
import { gitLabPulls } from './pulls.ts'
import { gitLabReviews } from './reviews.ts'

/** A project on GitLab, by the REST API of version 4. */
export function gitLab(address: ForgeAddress, token: string, options: ForgeOptions): Forge {
  const headers = { 'private-token': token }
  const http = createForgeHttp({ kind: address.kind, apiUrl: address.apiUrl, headers, token }, options)
  return {
    ...gitLabPulls(http, address),
    ...gitLabChecks(http, address),
    ...gitLabReviews(http, address),
    ...gitLabIssues(http, address),
  }
}
