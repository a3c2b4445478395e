import * as v from 'valibot'
import type { ForgePull } from '../forge.ts'
import { Count } from '../forgeFields.ts'
import type { ForgeHttp } from '../forgeHttp.ts'
import { listStatuses } from './checks.ts'
import { readReviews } from './reviews.ts'

const ProtectedBranch = v.object({
  protected: v.optional(v.boolean(), false),
  required_approvals: v.optional(Count, 0),
  enable_status_check: v.optional(v.boolean(), false),
  status_check_contexts: v.nullish(v.array(v.string()), []),
})
interface Asked {
  number: number
  state: 'open' | 'closed'
  draft: boolean
  mergeable: boolean
  base: string
  head: string
}

/** Whether a pull request fulfills the protection of its base, which Gitea does not report with the pull request. */
export async function isReady(http: ForgeHttp, repo: string, pull: Asked): Promise<ForgePull['ready']> {
  if (pull.state !== 'open') return null
  if (pull.draft || !pull.mergeable) return false
  const branch = await http.get(`${repo}/branches/${encodeURIComponent(pull.base)}`, ProtectedBranch)
  if (!branch.protected) return true
  if (branch.required_approvals > 0 && !(await isApproved(http, repo, pull.number, branch.required_approvals)))
    return false
  return !branch.enable_status_check || hasPassed(http, repo, pull.head, branch.status_check_contexts ?? [])
}

async function isApproved(http: ForgeHttp, repo: string, number: number, needed: number): Promise<boolean> {
  const counting = (await readReviews(http, repo, number)).filter(({ isOfficial }) => isOfficial)
  return (
    counting.filter(({ state }) => state === 'approved').length >= needed &&
    counting.every(({ state }) => state !== 'changes_requested')
  )
}

/** The names of required checks can contain `*`. Without names, all checks must have passed. */
async function hasPassed(http: ForgeHttp, repo: string, commit: string, names: readonly string[]): Promise<boolean> {
  const checks = await listStatuses(http, repo, commit)
  if (names.length === 0) return checks.length > 0 && checks.every(({ state }) => state === 'success')
  return names.every(name => {
    const found = checks.filter(check => isNamed(check.name, name))
    return found.length > 0 && found.every(({ state }) => state === 'success')
  })
}

/** Whether a name matches a pattern, in which `*` matches anything. */
function isNamed(name: string, pattern: string): boolean {
  const [first = '', ...rest] = pattern.split('*')
  if (rest.length === 0) return name === pattern
  if (!name.startsWith(first)) return false
  const last = rest.pop()!
  let at = first.length
  for (const part of rest) {
    const found = name.indexOf(part, at)
    if (found === -1) return false
    at = found + part.length
  }
  return name.length - last.length >= at && name.endsWith(last)
}
