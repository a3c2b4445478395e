import { Problem } from '../contract/errors.ts'
import { home } from '../contract/forges/repositories.ts'
import { type CheckoutState } from '../git/checkoutState.ts'
import { commitOf, isAncestor, resolveCommits } from '../git/commits.ts'
import { commitWorktree } from '../worktrees/commitWork.ts'
import { fetchLargeFiles } from '../git/remoteLargeFiles.ts'
import { fetchUpstream, upstreamOf } from '../git/fetchUpstream.ts'
import type { RemoteReach } from '../git/remoteGit.ts'
import { syncedWorktree } from '../worktrees/findWorktree.ts'
import { readCardRepository } from '../store/cards/cardRepositories.ts'
import { readCard, type CardRow } from '../store/cards/cards.ts'
import type { Reader } from '../store/engine/database.ts'
import { hasActiveAgent } from '../views/cards.ts'
import type { Worktrees } from '../worktrees/worktrees.ts'

/** The commit at which a card's work starts, null before the first commit, and the remark about it. */
export interface Base {
  commit: string | null
  remark?: string
}

/** The repository in which the base of a card is searched. */
export interface BaseSearch {
  worktrees: Worktrees
  db: Reader
  checkout: CheckoutState
  reach: RemoteReach
  /** The name of the repository in the project. Empty for the home. */
  repository: string
}

/**
 * Finds the commit at which a card's new work starts in a repository: the branch, tag, commit or other card that the card names, or the
 * checked-out branch of the project's folder. The upstream of a branch and missing large files of Git LFS are fetched. A repository
 * other than the home can lack what the card names.
 * @throws Problem CONFLICT if the home lacks what the card names, the other card's work cannot be committed, or large files cannot be
 * fetched
 */
export async function findCardBase(search: BaseSearch, card: CardRow): Promise<Base> {
  const base = await findCommit(search, card)
  if (base.commit !== null) await fetchLargeFiles(search.checkout.repository, base.commit, search.reach)
  return base
}

async function findCommit(search: BaseSearch, card: CardRow): Promise<Base> {
  const { db, checkout, reach } = search
  if (card.base !== null) return findNamedBase(card.base, search)
  if (card.baseCardId === null) return findBase(checkout, reach)
  const other = await readCard(db, card.projectId, card.baseCardId)
  const commit = other && (await tipOfCard(search, other))
  if (commit !== undefined) return { commit, remark: `The base is the branch of card ${card.baseCardId}.` }
  const base = await findBase(checkout, reach)
  const remarks = [`Card ${card.baseCardId} has no branch, so the base is that of the project.`, base.remark]
  return { ...base, remark: remarks.filter(Boolean).join('\n') }
}

/** The newest commit of a card's branch. Uncommitted changes are committed first, unless an agent is working there. */
async function tipOfCard(
  { worktrees, db, checkout: { repository }, repository: name }: BaseSearch,
  card: CardRow,
): Promise<string | undefined> {
  const other = name === home ? undefined : await readCardRepository(db, card.id, name)
  const { worktreePath, gitBranch, worktreeManaged } =
    name === home ? card : { worktreePath: null, ...other, gitBranch: other?.branch, worktreeManaged: 1 }
  if (!gitBranch) return undefined
  const place = await syncedWorktree(worktrees, repository, worktreePath)
  if (place && worktreeManaged === 1 && !hasActiveAgent(card))
    await commitWorktree(worktrees, place, { title: card.title, isWhole: false })
  return commitOf(repository.commonDir, `refs/heads/${gitBranch}`)
}

async function findNamedBase(name: string, { checkout, reach, repository }: BaseSearch): Promise<Base> {
  const commits = await resolveCommits(checkout.repository.commonDir, [
    `refs/heads/${name}`,
    `refs/tags/${name}`,
    `refs/remotes/${name}`,
    ...(/^[0-9a-f]{7,64}$/.test(name) ? [name] : []),
  ])
  if (commits[0] !== undefined) return findBase({ ...checkout, branch: name, commit: commits[0] }, reach)
  const commit = commits.find(each => each !== undefined)
  if (commit === undefined && repository !== home) {
    const base = await findBase(checkout, reach)
    return {
      ...base,
      remark: [`${name} does not exist, so the base is that of the project.`, base.remark].filter(Boolean).join('\n'),
    }
  }
  if (commit === undefined)
    throw new Problem('CONFLICT', `The repository has no branch, tag or commit ${name} for the card to start from.`)
  return { commit }
}

/**
 * The commit at which new work starts. If the checked-out branch has no commits that its upstream lacks, this is the newest commit of the
 * upstream, which is fetched. Otherwise, it is the branch's own commit. The branch and its files are unchanged.
 */
async function findBase({ repository, branch, commit }: CheckoutState, reach: RemoteReach): Promise<Base> {
  const upstream = branch === null || commit === null ? undefined : await upstreamOf(repository, branch)
  if (branch === null || commit === null || !upstream) return { commit }
  const fetched = await fetchUpstream(repository, upstream, reach)
  if ('reason' in fetched)
    return {
      commit,
      remark: `${branch} could not be fetched from ${upstream.remote}, so the work starts at the local commit: ${fetched.reason}`,
    }
  const { commonDir } = repository
  if (await isAncestor(commonDir, commit, fetched.commit)) return { commit: fetched.commit }
  if (await isAncestor(commonDir, fetched.commit, commit)) return { commit }
  const other = upstream.tracking.slice('refs/remotes/'.length)
  return {
    commit,
    remark: `${branch} and ${other} have diverged, so the work starts at the local commit of ${branch}.`,
  }
}
