import * as v from 'valibot'
import type { CheckState } from '../../contract/forges/pullRequestRecords.ts'
import { errorLines } from '../errorLines.ts'
import { ForgeFailed, type Forge, type ForgeAddress, type ForgeCheck } from '../forge.ts'
import { Count, Name, PageUrl } from '../forgeFields.ts'
import type { ForgeHttp } from '../forgeHttp.ts'
import { projectPath } from './fields.ts'

const Pipeline = v.object({ id: Count })
const Job = v.object({
  id: Count,
  name: Name,
  status: v.string(),
  allow_failure: v.optional(v.boolean(), false),
  web_url: PageUrl,
})
const Status = v.object({
  id: Count,
  name: Name,
  status: v.string(),
  allow_failure: v.optional(v.boolean(), false),
  target_url: PageUrl,
})

/** The jobs of a merge request's newest pipeline, and external statuses of its commit. */
export function gitLabChecks(http: ForgeHttp, address: ForgeAddress): Pick<Forge, 'listChecks' | 'readCheckLog'> {
  const project = projectPath(address)
  return {
    listChecks: async ({ number, headCommit }) => {
      const all = { per_page: 100 }
      const [pipelines, statuses] = await Promise.all([
        withoutPipelines(http.get(`${project}/merge_requests/${number}/pipelines`, v.array(Pipeline), { per_page: 1 })),
        withoutPipelines(http.list(`${project}/repository/commits/${headCommit}/statuses`, v.array(Status), all)),
      ])
      const [newest] = pipelines
      const jobs = newest ? await http.list(`${project}/pipelines/${newest.id}/jobs`, v.array(Job), all) : []
      const known = new Set(jobs.map(({ id }) => id))
      return [
        ...jobs.map(job => toCheck('job', job, job.web_url)),
        // The statuses include jobs, with the same IDs.
        ...statuses.filter(({ id }) => !known.has(id)).map(status => toCheck('status', status, status.target_url)),
      ]
    },
    readCheckLog: async ({ id }, maxBytes) => {
      const job = /^job:(\d+)$/.exec(id)?.[1]
      const log = job === undefined ? undefined : await http.log(`${project}/jobs/${job}/trace`)
      return log === undefined || log.trim() === '' ? undefined : errorLines(log, maxBytes)
    },
  }
}

function toCheck(
  kind: 'job' | 'status',
  { id, name, status, allow_failure }: Pick<v.InferOutput<typeof Job>, 'id' | 'name' | 'status' | 'allow_failure'>,
  url: string | null,
): ForgeCheck {
  return { id: `${kind}:${id}`, name, state: stateOf(status, allow_failure), url }
}

function stateOf(status: string, mayFail: boolean): CheckState {
  if (status === 'success') return 'success'
  if (status === 'skipped') return 'neutral'
  if (status === 'failed' || status === 'canceled') return mayFail ? 'neutral' : 'failure'
  // A manual job that no other job waits for.
  return status === 'manual' && mayFail ? 'neutral' : 'pending'
}

/** A project can have pipelines disabled. */
async function withoutPipelines<T>(read: Promise<T[]>): Promise<T[]> {
  try {
    return await read
  } catch (error) {
    if (error instanceof ForgeFailed && (error.reason === 'refused' || error.reason === 'missing')) return []
    throw error
  }
}
