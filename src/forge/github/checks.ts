import * as v from 'valibot'
import type { CheckState } from '../../contract/forges/pullRequestRecords.ts'
import { errorLines } from '../errorLines.ts'
import { ForgeFailed, type Forge, type ForgeCheck } from '../forge.ts'
import { Body, Count, Name, PageUrl } from '../forgeFields.ts'
import type { ForgeHttp } from '../forgeHttp.ts'

const Run = v.object({
  id: Count,
  name: Name,
  status: v.string(),
  conclusion: v.nullish(v.string()),
  html_url: PageUrl,
})
const Output = v.object({
  output: v.nullish(v.object({ title: Body, summary: Body, text: Body })),
})
const Status = v.object({ id: Count, context: Name, state: v.string(), target_url: PageUrl })

const Runs = v.pipe(
  v.object({ check_runs: v.array(Run) }),
  v.transform(({ check_runs }) => check_runs),
)
const Statuses = v.pipe(
  v.object({ statuses: v.array(Status) }),
  v.transform(({ statuses }) => statuses),
)
const WorkflowRuns = v.pipe(
  v.object({ workflow_runs: v.array(v.object({ id: Count })) }),
  v.transform(({ workflow_runs }) => workflow_runs),
)
const Jobs = v.pipe(
  v.object({ jobs: v.array(Run) }),
  v.transform(({ jobs }) => jobs),
)

/** Other conclusions mean failure: cancelled, timed_out, startup_failure, stale. */
const conclusions: Readonly<Record<string, CheckState>> = {
  success: 'success',
  neutral: 'neutral',
  skipped: 'neutral',
  // A user must approve the run.
  action_required: 'pending',
}
const statusStates: Readonly<Record<string, CheckState>> = { success: 'success', pending: 'pending' }

/** Check runs, of Actions and others, and commit statuses. */
export function gitHubChecks(http: ForgeHttp, repo: string): Pick<Forge, 'listChecks' | 'readCheckLog'> {
  return {
    listChecks: async ({ headCommit }) => {
      const commit = `${repo}/commits/${headCommit}`
      const [runs, statuses] = await Promise.all([
        http.list(`${commit}/check-runs`, Runs, { filter: 'latest', per_page: 100 }).catch((error: unknown) => {
          // Fine-grained tokens cannot read check runs of private repositories, but can read the jobs of Actions.
          if (error instanceof ForgeFailed && error.reason === 'refused') return listJobs(http, repo, headCommit)
          throw error
        }),
        http.list(`${commit}/status`, Statuses, { per_page: 100 }),
      ])
      return [...runs.map(toCheck), ...statuses.map(statusToCheck)]
    },
    readCheckLog: async ({ id }, maxBytes) => {
      const run = /^run:(\d+)$/.exec(id)?.[1]
      if (run === undefined) return undefined
      const log = await http.log(`${repo}/actions/jobs/${run}/logs`)
      if (log !== undefined && log.trim() !== '') return errorLines(log, maxBytes)
      const { output } = await http.get(`${repo}/check-runs/${run}`, Output)
      const report = output ? [output.title, output.summary, output.text].filter(Boolean).join('\n\n') : ''
      return report === '' ? undefined : errorLines(report, maxBytes)
    },
  }
}

async function listJobs(http: ForgeHttp, repo: string, commit: string): Promise<v.InferOutput<typeof Run>[]> {
  const runs = await http.get(`${repo}/actions/runs`, WorkflowRuns, { head_sha: commit, per_page: 30 })
  const jobs = await Promise.all(
    runs.map(({ id }) => http.get(`${repo}/actions/runs/${id}/jobs`, Jobs, { filter: 'latest', per_page: 100 })),
  )
  return jobs.flat()
}

const toCheck = ({ id, name, status, conclusion, html_url }: v.InferOutput<typeof Run>): ForgeCheck => ({
  id: `run:${id}`,
  name,
  state: status === 'completed' ? (conclusions[conclusion ?? ''] ?? 'failure') : 'pending',
  url: html_url,
})

const statusToCheck = ({ id, context, state, target_url }: v.InferOutput<typeof Status>): ForgeCheck => ({
  id: `status:${id}`,
  name: context,
  state: statusStates[state] ?? 'failure',
  url: target_url,
})
