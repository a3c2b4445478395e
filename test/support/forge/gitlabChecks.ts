import { Refused, type ForgeState } from './forgeState.ts'
import type { GitLabRecords } from './gitlabRecords.ts'
import type { Call, Routes } from './wire.ts'

const project = '/projects/:project'

/** GitLab's pipelines, jobs with their traces, and statuses of commits. */
export function gitLabChecks(state: ForgeState, records: GitLabRecords): Routes {
  const runs = () => state.checks.filter(({ kind }) => kind === 'run')
  const jobOf = ({ params }: Call) => {
    const found = runs().find(({ id }) => `${id}` === params.job)
    if (!found) throw new Refused(404, '404 Not found')
    return found
  }
  const inPipeline = ({ params }: Call) => {
    const found = runs().filter(({ runId }) => `${runId}` === params.pipeline)
    if (found.length === 0) throw new Refused(404, '404 Not found')
    return found
  }
  return {
    [`GET ${project}/merge_requests/:iid/pipelines`]: ({ params }) => {
      const pull = state.pulls.find(({ number }) => `${number}` === params.iid)
      if (!pull) throw new Refused(404, '404 Not found')
      return { list: records.pipelines(pull) }
    },
    [`GET ${project}/pipelines/:pipeline`]: call => {
      const { commit } = inPipeline(call)[0]!
      return { body: records.pipeline(commit, state.repository.defaultBranch) }
    },
    [`GET ${project}/pipelines/:pipeline/jobs`]: call => {
      const all = inPipeline(call)
      const newest = [...new Map(all.map(check => [check.name, check])).values()]
      const found = call.query.get('include_retried') === 'true' ? all : newest
      return { list: found.toSorted((a, b) => b.id - a.id).map(check => records.job(check)) }
    },
    [`GET ${project}/jobs/:job`]: call => ({ body: records.job(jobOf(call)) }),
    [`GET ${project}/jobs/:job/trace`]: call => ({ body: jobOf(call).log }),
    [`GET ${project}/repository/commits/:sha/statuses`]: ({ params, query }) => {
      const commit = state.repository.resolve(params.sha!)
      if (commit === undefined) throw new Refused(404, '404 Commit Not Found')
      const all = state.checks.filter(check => check.commit === commit)
      const found = query.get('all') === 'true' ? all : state.latestChecks(commit)
      return { list: found.map(check => records.status(check)) }
    },
  }
}
