import * as v from 'valibot'
import type { CheckState } from '../../contract/forges/pullRequestRecords.ts'
import { errorLines } from '../errorLines.ts'
import type { Forge, ForgeCheck } from '../forge.ts'
import { ForgeFailed } from '../forge.ts'
import { Count, Name, Sha } from '../forgeFields.ts'
import { pageUrl } from '../forgeFields.ts'
import type { ForgeHttp } from '../forgeHttp.ts'
import { pageSize } from './pageSize.ts'

const Status = v.object({
  id: Count,
  context: Name,
  // Depending on its version, Gitea sends `status` or `state`.
  status: v.optional(v.string()),
  state: v.optional(v.string()),
  target_url: v.nullish(v.string(), ''),
})
const Runs = v.object({ workflow_runs: v.optional(v.array(v.object({ id: Count, head_sha: v.optional(Sha) })), []) })
const Jobs = v.object({
  jobs: v.optional(
    v.array(v.object({ id: Count, name: Name, conclusion: v.nullish(v.string()), html_url: v.nullish(v.string()) })),
    [],
  ),
})

const states: Readonly<Record<string, CheckState>> = {
  success: 'success',
  pending: 'pending',
  skipped: 'neutral',
  // Passed, with a remark.
  warning: 'neutral',
}

/** The newest status of each name of a commit, including the statuses of Gitea's Actions. */
export async function listStatuses(
  http: ForgeHttp,
  repo: string,
  commit: string,
  webUrl?: string,
): Promise<ForgeCheck[]> {
  const query = { sort: 'recentupdate', limit: pageSize }
  const all = await http.list(`${repo}/commits/${commit}/statuses`, v.array(Status), query)
  const newest = new Map<string, v.InferOutput<typeof Status>>()
  for (const status of all.toSorted((a, b) => a.id - b.id)) newest.set(status.context, status)
  return [...newest.values()].map(({ id, context, status, state, target_url }) => ({
    id: `status:${commit}:${id}`,
    name: context,
    state: states[status ?? state ?? ''] ?? 'failure',
    url: pageUrl(
      target_url && webUrl && URL.canParse(target_url, webUrl) ? new URL(target_url, webUrl).href : target_url,
    ),
  }))
}

/** Reads commit statuses, and logs of Actions if the version supports them (Gitea 1.24). */
export function giteaChecks(http: ForgeHttp, repo: string, webUrl: string): Pick<Forge, 'listChecks' | 'readCheckLog'> {
  return {
    listChecks: ({ headCommit }) => listStatuses(http, repo, headCommit, webUrl),
    readCheckLog: async ({ id, name, url }, maxBytes) => {
      const commit = /^status:([0-9a-f]+):\d+$/.exec(id)?.[1]
      // Only the logs of Actions are on this server.
      if (commit === undefined || !url?.startsWith(`${webUrl}/`)) return undefined
      const job = await findJob(http, repo, commit, name).catch((error: unknown) => {
        if (error instanceof ForgeFailed && error.reason === 'missing') return undefined
        throw error
      })
      const log = job === undefined ? undefined : await http.log(`${repo}/actions/jobs/${job}/logs`)
      return log === undefined || log.trim() === '' ? undefined : errorLines(log, maxBytes)
    },
  }
}

/** A status of Actions is called "workflow / job (event)". */
async function findJob(http: ForgeHttp, repo: string, commit: string, name: string): Promise<number | undefined> {
  const { workflow_runs: runs } = await http.get(`${repo}/actions/runs`, Runs, { head_sha: commit, limit: pageSize })
  for (const { id, head_sha } of runs) {
    if (head_sha !== undefined && head_sha !== commit) continue
    const { jobs } = await http.get(`${repo}/actions/runs/${id}/jobs`, Jobs, { limit: pageSize })
    const found = jobs.find(
      job => name === job.name || name.includes(` / ${job.name} (`) || name.endsWith(` / ${job.name}`),
    )
    if (found) return found.id
  }
  return undefined
}
