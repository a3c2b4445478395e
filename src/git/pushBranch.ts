import { commitOf } from './commits.ts'
import { moveTracking, reasonIn, reasonOfFailure, runRemote } from './remoteFolder.ts'
import { pushLargeFiles } from './remoteLargeFiles.ts'
import type { RemoteReach } from './remoteGit.ts'
import type { Remote } from './remotes.ts'
import type { Repository } from './workingTrees.ts'

/**
 * pushed: the branch is there now. current: it was already. rejected: it has commits there that were not seen here. failed: the other
 * machine was not reached, or refused; `reason` is Git's.
 */
export type Pushed = { state: 'pushed' | 'current' | 'rejected' } | { state: 'failed'; reason: string }

/**
 * Pushes a commit to a branch of this name. With `force` what is there may be replaced, but only what was last seen of it here, or what is
 * `expected` there. None of the repository's hooks and settings has a say. Nobody is asked anything.
 */
export async function pushBranch(
  repository: Repository,
  {
    remote,
    branch,
    commit,
    force,
    expected,
  }: { remote: Remote; branch: string; commit: string; force: boolean; expected?: string },
  reach: RemoteReach,
): Promise<Pushed> {
  const tracking = `refs/remotes/${remote.name}/${branch}`
  const seen = await commitOf(repository.commonDir, tracking)
  const args = (url: string) => [
    'push',
    '--no-verify',
    '--no-recurse-submodules',
    ...(force ? [`--force-with-lease=refs/heads/${branch}:${expected ?? seen ?? ''}`] : []),
    '--',
    url,
    `${commit}:refs/heads/${branch}`,
  ]
  try {
    const problem = await pushLargeFiles(repository, remote, commit, reach)
    if (problem !== null) return { state: 'failed', reason: problem }
    const run = { url: remote.url, args, known: [seen, commit], fetchedRef: null }
    const { exitCode, stderr } = await runRemote(repository, run, reach)
    if (exitCode !== 0)
      return /\[rejected\].*\((non-fast-forward|fetch first|stale info)\)/.test(stderr)
        ? { state: 'rejected' }
        : { state: 'failed', reason: reasonIn(stderr, remote, reach) }
    await moveTracking(repository, tracking, commit, 'push: board')
    return { state: stderr.includes('Everything up-to-date') ? 'current' : 'pushed' }
  } catch (error) {
    return { state: 'failed', reason: reasonOfFailure(error, reach) }
  }
}
