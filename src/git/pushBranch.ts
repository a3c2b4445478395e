import { commitOf } from './commits.ts'
import { moveTracking, reasonIn, reasonOfFailure, runRemote } from './remoteFolder.ts'
import { pushLargeFiles } from './remoteLargeFiles.ts'
import type { RemoteReach } from './remoteGit.ts'
import type { Remote } from './remotes.ts'
import type { Repository } from './workingTrees.ts'

/**
 * pushed: the branch is now on the remote. current: the remote branch already had the commit. rejected: the remote has commits that were
 * not fetched. failed: the remote was unreachable, or refused; `reason` is Git's message.
 */
export type Pushed = { state: 'pushed' | 'current' | 'rejected' } | { state: 'failed'; reason: string }

/**
 * Pushes a commit to a branch of this name. With `force`, the remote branch can be replaced, but only in the last fetched state,
 * or in the `expected` state. The repository's hooks and settings do not apply. Never prompts.
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
