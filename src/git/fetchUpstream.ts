import { coalesce } from '../async/coalesce.ts'
import { commitOf } from './commits.ts'
import { configurationOf } from './configuration.ts'
import { git, inGitDir } from './git.ts'
import { nulSeparated } from './fileNames.ts'
import { moveTracking, reasonIn, reasonOfFailure, runRemote } from './remoteFolder.ts'
import type { RemoteReach } from './remoteGit.ts'
import type { Repository } from './workingTrees.ts'

/** The upstream of a branch: the branch `ref` at `url`, with the remote-tracking ref `tracking`. */
export interface Upstream {
  remote: string
  url: string
  ref: string
  tracking: string
}
/** The commit of the upstream, or why it is unavailable. */
export type Fetched = { commit: string } | { reason: string }

const fetchedRef = 'refs/board/fetched'

/** The upstream of a branch. Undefined if the upstream is not in another repository, or has no remote-tracking ref. */
export async function upstreamOf(repository: Repository, branch: string): Promise<Upstream | undefined> {
  const { commonDir } = repository
  const env = inGitDir(commonDir)
  const isFollowing = (await configurationOf(repository)).some(({ name }) => name === `branch.${branch}.merge`)
  if (!isFollowing) return undefined
  const format = '%(refname)%00%(upstream)%00%(upstream:remotename)%00%(upstream:remoteref)%00'
  const { stdout } = await git(commonDir, ['for-each-ref', `--format=${format}`, `refs/heads/${branch}`], { env })
  const [name, tracking = '', remote = '', ref = ''] = stdout.toString().split('\0')
  if (name !== `refs/heads/${branch}` || !tracking.startsWith('refs/remotes/') || !ref.startsWith('refs/heads/'))
    return undefined
  const urls = await git(commonDir, ['config', '--null', '--get-all', `remote.${remote}.url`], { env })
  const [url] = nulSeparated(urls.stdout)
  return url ? { remote, url, ref, tracking } : undefined
}

/**
 * Fetches an upstream and moves its remote-tracking ref, without other changes to the repository. Concurrent calls share a fetch.
 * Only the address is read from the repository's configuration: the programs and credentials for the connection come from the
 * account's own. Never prompts. Does not hold the repository's lock.
 */
export function fetchUpstream(repository: Repository, upstream: Upstream, reach: RemoteReach): Promise<Fetched> {
  const key = [repository.commonDir, reach.timeoutMs, ...Object.values(upstream)].join('\0')
  const fetch = shared.get(key) ?? {
    calls: 0,
    run: coalesce(() => fetchOnce(repository, upstream, reach)),
  }
  shared.set(key, fetch)
  fetch.calls++
  return fetch.run().finally(() => {
    if (--fetch.calls === 0) shared.delete(key)
  })
}
const shared = new Map<string, { calls: number; run: () => Promise<Fetched> }>()

async function fetchOnce(repository: Repository, upstream: Upstream, reach: RemoteReach): Promise<Fetched> {
  const { commonDir, head } = repository
  const known = [head, await commitOf(commonDir, upstream.tracking)]
  const args = (url: string) => fetchArguments({ ...upstream, url })
  try {
    const run = { url: upstream.url, args, known, fetchedRef }
    const { exitCode, stderr, fetched } = await runRemote(repository, run, reach)
    if (exitCode !== 0 || fetched === null) return { reason: reasonIn(stderr, upstream, reach) }
    const commit = await commitOf(commonDir, fetched)
    if (commit === undefined) return { reason: 'the branch there has no commit' }
    const isMoved = await moveTracking(repository, upstream.tracking, commit, 'fetch: board')
    return isMoved ? { commit } : { reason: `${upstream.tracking} could not be updated` }
  } catch (error) {
    return { reason: reasonOfFailure(error, reach) }
  }
}

const fetchArguments = ({ url, ref }: Upstream) => [
  'fetch',
  '--quiet',
  '--no-tags',
  '--no-prune',
  '--no-recurse-submodules',
  '--no-auto-maintenance',
  '--no-write-commit-graph',
  '--no-write-fetch-head',
  '--no-show-forced-updates',
  '--',
  url,
  `+${ref}:${fetchedRef}`,
]
