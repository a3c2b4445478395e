import { readCheckoutState, type CheckoutState } from '../git/checkoutState.ts'
import { commitOf, isAncestor } from '../git/commits.ts'
import { Problem } from '../contract/errors.ts'
import { inOneLine } from '../domain/worktrees/changes.ts'
import * as pulls from '../domain/forges/pullRequests.ts'
import { workIn } from '../domain/worktrees/repositoryWork.ts'
import { fetchUpstream, type Fetched } from '../git/fetchUpstream.ts'
import { findRemote } from '../git/remotes.ts'
import { updateBranch } from '../worktrees/updateBranch.ts'
import { syncedWorktree } from '../worktrees/findWorktree.ts'
import { forgeOf, type ProjectRow } from '../store/projects/projects.ts'
import type { PullRequestChange } from '../store/forges/pullRequests.ts'
import { hasActiveAgent } from '../views/cards.ts'
import { readRequest, reportedKeys, type LoopDependencies, type RequestOf } from './loopDependencies.ts'
import { stop } from './stopLoop.ts'

/** The prefix of a recorded conflict: the head on the forge and the branch's commit follow. */
const conflictPrefix = 'conflict:'

/** Fetches a branch of the project's remote, and updates its remote-tracking ref. */
export async function fetchBranch(
  parts: Pick<LoopDependencies, 'reachOf'>,
  project: Pick<ProjectRow, 'forge' | 'forgeCredentialId'>,
  { repository }: CheckoutState,
  branch: string,
): Promise<Fetched> {
  const { name, url } = await findRemote(repository, forgeOf(project).remote)
  const ref = { remote: name, url, ref: `refs/heads/${branch}`, tracking: `refs/remotes/${name}/${branch}` }
  return fetchUpstream(repository, ref, await parts.reachOf(project))
}

/**
 * Compares the head on the forge with the card's branch. Commits that others have pushed on top are merged into the card's
 * branch, and a user's own push resumes the agent. A head without the board's pushed commits is not touched, and users are
 * notified.
 * @returns whether the board can push on top of it
 */
export async function followHead(parts: LoopDependencies, request: RequestOf): Promise<boolean> {
  const { row } = request
  const { card, project } = await workIn(parts.db, request.card, request.project, row.repository)
  const head = row.headCommit
  if (head === null || head === row.pushedCommit) return true
  const checkout = await readCheckoutState(project)
  if (!checkout) return false
  const place = await syncedWorktree(parts.worktrees, checkout.repository, card.worktreePath)
  const { commonDir } = checkout.repository
  const tip = await commitOf(commonDir, `refs/heads/${row.branch}`)
  const holds = async (one: string, other: string) =>
    (await commitOf(commonDir, one)) !== undefined && isAncestor(commonDir, one, other)
  if (tip !== undefined && (await holds(head, tip))) return accept(parts, request, head)
  const conflict = `${conflictPrefix}${head}:${tip}`
  if (row.stopped !== null && reportedKeys(row).includes(conflict)) return false
  // A known commit is not fetched again at each check, such as for a pull request that was handed to a person.
  if ((await commitOf(commonDir, head)) === undefined) {
    const fetched = await fetchBranch(parts, project, checkout, row.branch)
    if ('reason' in fetched || fetched.commit !== head) return false
  }
  if (row.pushedCommit !== null && !(await holds(row.pushedCommit, head)))
    return leave(
      parts,
      request,
      `The branch ${row.branch} was replaced on the forge, and no longer contains the commits that the card has pushed. Nothing was overwritten. Merge the two branches, then push.`,
    )
  if (hasActiveAgent(card)) return false
  const title = inOneLine(card.title)
  const message = `Merge: what others have pushed to "${title}"`
  const { repository } = checkout
  const isManaged = card.worktreeManaged === 1
  const work = { repository, place, isManaged, branch: row.branch }
  const update = { ...work, onto: head, title, message }
  try {
    await updateBranch(parts.worktrees, { ...update, strategy: 'merge' })
  } catch (error) {
    if (!(error instanceof Problem) || error.status >= 500) throw error
    const files = (error.details ?? []).map(({ path }) => path).join(', ')
    const reason = files === '' ? error.message : `it conflicts in ${files}.`
    const words = `The commits that others have pushed could not be merged into the card's branch: ${reason}`
    return leave(parts, request, words, error.code === 'MERGE_CONFLICT' ? conflict : undefined)
  }
  return accept(parts, request, head)
}

/** Accepts a known head. If the board did not push it, a user did, which resumes the agent. */
async function accept({ db }: LoopDependencies, { row: { id } }: RequestOf, head: string): Promise<true> {
  await db.transaction(async tx => {
    const present = (await readRequest(tx, id))?.row
    if (!present) return
    const isByPerson = present.pushedCommit !== null && present.step === 'idle'
    const again: PullRequestChange = isByPerson ? { stopped: null, rounds: 0 } : {}
    await pulls.change(tx, present, { ...again, pushedCommit: head })
  })
  return true
}

/** @param conflict identifies the conflict of these two commits: only a change of either requires another check */
async function leave(
  parts: LoopDependencies,
  { row: { id } }: RequestOf,
  reason: string,
  conflict?: string,
): Promise<false> {
  await parts.db.transaction(async tx => {
    const request = await readRequest(tx, id)
    if (!request) return
    const row = await stop(tx, parts, request, reason)
    if (conflict === undefined) return
    const others = reportedKeys(row).filter(key => !key.startsWith(conflictPrefix))
    await pulls.change(tx, row, { told: JSON.stringify([...others, conflict]) })
  })
  return false
}
