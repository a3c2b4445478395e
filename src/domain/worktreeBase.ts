import { isAncestor, type CheckoutState } from '../git/cardWorktrees.ts'
import { fetchUpstream, upstreamOf } from '../git/fetchUpstream.ts'
import type { RemoteReach } from '../git/remoteGit.ts'

/** The commit that a card's work starts at, null before the first one, and what there is to be told of it. */
export interface Base {
  commit: string | null
  remark?: string
}

/**
 * The commit that new work starts at: that of the upstream of the checked-out branch, which is fetched, where the branch has nothing
 * that the upstream lacks; else the branch's own. The branch and its files stay as they are.
 */
export async function findBase({ repository, branch, commit }: CheckoutState, reach: RemoteReach): Promise<Base> {
  const upstream = branch === null || commit === null ? undefined : await upstreamOf(repository, branch)
  if (branch === null || commit === null || !upstream) return { commit }
  const fetched = await fetchUpstream(repository, upstream, reach)
  if ('reason' in fetched)
    return {
      commit,
      remark: `${branch} could not be fetched from ${upstream.remote}, so the work starts at the local commit: ${fetched.reason}`,
    }
  const { topLevel } = repository
  if (await isAncestor(topLevel, commit, fetched.commit)) return { commit: fetched.commit }
  if (await isAncestor(topLevel, fetched.commit, commit)) return { commit }
  const other = upstream.tracking.slice('refs/remotes/'.length)
  return {
    commit,
    remark: `${branch} and ${other} have diverged, so the work starts at the local commit of ${branch}.`,
  }
}
