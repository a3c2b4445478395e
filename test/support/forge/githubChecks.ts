import { createHmac } from 'node:crypto'
import { Refused, type ForgeState } from './forgeState.ts'
import type { GitHubRecords } from './githubRecords.ts'
import type { Call, Routes } from './wire.ts'

const repo = '/repos/:owner/:repo'

/** GitHub's checks, statuses, and jobs of Actions. A job's log is at another address, which requires no token. */
export function gitHubChecks(state: ForgeState, records: GitHubRecords, storageToken: string): Routes {
  const commitOf = ({ params }: Call): string => {
    const found = state.repository.resolve(params.ref!)
    if (found === undefined) throw new Refused(422, `No commit found for SHA: ${params.ref!}`)
    return found
  }
  const runOf = ({ params }: Call) => {
    const found = state.checks.find(({ id, kind }) => `${id}` === params.id && kind === 'run')
    if (!found) throw new Refused(404, 'Not Found')
    return found
  }
  const statuses = (call: Call) => state.latestChecks(commitOf(call)).filter(({ kind }) => kind === 'status')
  return {
    [`GET ${repo}/commits/:ref*/check-runs`]: call => {
      const commit = commitOf(call)
      const checks =
        call.query.get('filter') === 'all'
          ? state.checks.filter(check => check.commit === commit)
          : state.latestChecks(commit)
      const named = call.query.get('check_name')
      return {
        list: checks
          .filter(({ kind, name }) => kind === 'run' && (named === null || named === name))
          .reverse()
          .map(check => records.checkRun(check)),
        wrap: (page, total) => ({ total_count: total, check_runs: page }),
      }
    },
    [`GET ${repo}/check-runs/:id`]: call => ({ body: records.checkRun(runOf(call)) }),
    [`GET ${repo}/check-runs/:id/annotations`]: call => {
      runOf(call)
      return { list: [] }
    },
    [`GET ${repo}/commits/:ref*/status`]: call => {
      const sha = commitOf(call)
      // The records have no creator here.
      const found = statuses(call).map(check => ({ ...records.status(check), creator: undefined }))
      const said = found.map(({ state }) => state)
      const failed = said.includes('failure') || said.includes('error')
      return {
        list: found,
        wrap: (page, total) => ({
          state: failed ? 'failure' : said.includes('pending') || total === 0 ? 'pending' : 'success',
          statuses: page,
          sha,
          total_count: total,
          repository: records.repository(),
          commit_url: `${records.repo}/commits/${sha}`,
          url: `${records.repo}/commits/${sha}/status`,
        }),
      }
    },
    [`GET ${repo}/commits/:ref*/statuses`]: call => ({ list: statuses(call).map(check => records.status(check)) }),
    [`GET ${repo}/actions/runs`]: ({ query }) => {
      const commit = query.get('head_sha')
      const runs = state.checks.filter(each => each.kind === 'run' && (commit === null || each.commit === commit))
      return {
        list: [...new Set(runs.map(({ runId }) => runId))].map(id => ({ id, head_sha: commit })),
        wrap: (page, total) => ({ total_count: total, workflow_runs: page }),
      }
    },
    [`GET ${repo}/actions/runs/:run/jobs`]: ({ params }) => ({
      list: state.checks
        .filter(({ kind, runId }) => kind === 'run' && `${runId}` === params.run)
        .map(check => records.job(check)),
      wrap: (page, total) => ({ total_count: total, jobs: page }),
    }),
    [`GET ${repo}/actions/jobs/:id`]: call => ({ body: records.job(runOf(call)) }),
    [`GET ${repo}/actions/jobs/:id/logs`]: call => {
      const check = runOf(call)
      if (check.state === 'queued' || check.state === 'running') throw new Refused(404, 'Not Found')
      const signature = createHmac('sha256', storageToken).update(`${check.id}`).digest('hex')
      return { status: 302, headers: { location: `${records.place.storageUrl}/logs/${check.id}?sig=${signature}` } }
    },
  }
}
