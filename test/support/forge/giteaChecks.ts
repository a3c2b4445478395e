import { Refused, type ForgeState } from './forgeState.ts'
import type { GiteaRecords } from './giteaRecords.ts'
import type { Call, Routes } from './wire.ts'

const repo = '/repos/:owner/:repo'

/** Statuses of commits, and runs, jobs and logs of Gitea's Actions (from 1.24 on; Forgejo does not have them). */
export function giteaChecks(state: ForgeState, records: GiteaRecords): Routes {
  const commitOf = ({ params }: Call): string => {
    const found = state.repository.resolve(params.ref!)
    if (found === undefined) throw new Refused(404, 'object does not exist', { errors: [] })
    return found
  }
  const runs = () => state.checks.filter(({ kind }) => kind === 'run')
  const jobOf = ({ params }: Call) => {
    const found = runs().find(({ id }) => `${id}` === params.id)
    if (!found) throw new Refused(404, "The target couldn't be found.", { errors: [] })
    return found
  }
  return {
    // Gitea has a separate status for each state of a check; this returns only the last one.
    [`GET ${repo}/commits/:ref*/statuses`]: call => ({
      list: state.checks
        .filter(({ commit }) => commit === commitOf(call))
        .reverse()
        .map(check => records.status(check)),
    }),
    [`GET ${repo}/commits/:ref*/status`]: call => {
      const sha = commitOf(call)
      const found = state.latestChecks(sha).map(check => records.status(check))
      const states = found.map(({ status }) => status)
      const worst = ['failure', 'pending', 'success', 'skipped'].find(each => states.includes(each)) ?? ''
      return {
        body: {
          state: worst,
          sha,
          total_count: found.length,
          statuses: found,
          repository: records.repository(),
          commit_url: `${records.repo}/commits/${sha}`,
          url: `${records.repo}/commits/${sha}/status`,
        },
      }
    },
    [`GET ${repo}/actions/runs`]: ({ query }) => {
      const wanted = query.get('head_sha')
      const found = runs().filter(({ commit }) => wanted === null || wanted === commit)
      const newest = [...new Map(found.map(check => [check.runId, check])).values()].reverse()
      return {
        list: newest.map(check => records.run(check)),
        wrap: (page, total) => ({ total_count: total, workflow_runs: page }),
      }
    },
    [`GET ${repo}/actions/runs/:run/jobs`]: ({ params }) => {
      const all = runs().filter(({ runId }) => `${runId}` === params.run)
      const newest = [...new Map(all.map(check => [check.name, check])).values()]
      return {
        list: newest.map(check => records.job(check)),
        wrap: (page, total) => ({ total_count: total, jobs: page }),
      }
    },
    [`GET ${repo}/actions/jobs/:id`]: call => ({ body: records.job(jobOf(call)) }),
    [`GET ${repo}/actions/jobs/:id/logs`]: call => ({ body: jobOf(call).log }),
  }
}
