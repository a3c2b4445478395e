import { Problem } from '../contract/errors.ts'
import { home } from '../contract/forges/repositories.ts'
import type { ProjectFolder } from '../git/folderRecord.ts'
import { commitOf } from '../git/commits.ts'
import { commitWorktree } from '../worktrees/commitWork.ts'
import { git, inGitDir } from '../git/git.ts'
import { pushBranch } from '../git/pushBranch.ts'
import { fetchLargeFiles } from '../git/remoteLargeFiles.ts'
import { findRemote } from '../git/remotes.ts'
import type { RemoteReach } from '../git/remoteGit.ts'
import type { Repository } from '../git/workingTrees.ts'
import { requirePushedSubmodules } from '../worktrees/submodules.ts'
import { syncBranch } from '../worktrees/syncBranch.ts'
import { updateBranch } from '../worktrees/updateBranch.ts'
import { readCard, type CardRow } from '../store/cards/cards.ts'
import type { Database } from '../store/engine/database.ts'
import { forgeOf, type ProjectRow } from '../store/projects/projects.ts'
import { inOneLine, requireIdleWork, type IdleWork } from './changes.ts'
import { landedWords, noteLanded } from './workInBase.ts'
import { findCardBase, type Base } from './worktreeBase.ts'
import { keepBase } from './repositoryWork.ts'
import type { Worktrees } from '../worktrees/worktrees.ts'

const maxTitles = 20

type Project = Pick<ProjectRow, 'path' | 'folderRecords' | 'forge' | 'forgeCredentialId'>

/** `pushed` is false if the remote already had the branch. */
export interface PushedBranch {
  remote: string
  branch: string
  commit: string
  pushed: boolean
}

/**
 * Pushes a card's branch to the remote of a repository. `workIn` returns the card and the project for the repository. Uncommitted changes
 * in its worktree are committed first. With `force`, the last known state of the remote branch, or the `expected` state, can be replaced.
 * @throws Problem NOT_A_GIT_REPOSITORY, AGENT_ALREADY_RUNNING, PUSH_REJECTED, CONFLICT
 */
export async function push(
  worktrees: Worktrees,
  card: CardRow,
  project: Project,
  { force, expected }: { force: boolean; expected?: string },
  reach: RemoteReach,
): Promise<PushedBranch> {
  const { checkout, place } = await requireIdleWork(worktrees, card, project)
  const branch = branchOf(card, place)
  const remote = await findRemote(checkout.repository, forgeOf(project).remote)
  const commit = place
    ? await commitWorktree(worktrees, place, { title: inOneLine(card.title), isWhole: true })
    : await commitOf(checkout.repository.commonDir, `refs/heads/${branch}`)
  if (commit === undefined) throw missingBranch(branch)
  await requirePushedSubmodules(worktrees, checkout.repository, place, { from: card.baseCommit, to: commit })
  const result = await pushBranch(checkout.repository, { remote, branch, commit, force, expected }, reach)
  if (result.state === 'rejected')
    throw new Problem(
      'PUSH_REJECTED',
      `The branch ${branch} on ${remote.name} has commits that are not in the card's branch. Review them first. With force, the push replaces the last fetched version of the branch.`,
    )
  if (result.state === 'failed')
    throw new Problem(
      'CONFLICT',
      `${branch} could not be pushed to ${remote.name}: ${result.reason} (its remote and credential are set with board projects forge)`,
    )
  return { remote: remote.name, branch, commit, pushed: result.state === 'pushed' }
}

export interface UpdatedBranch {
  branch: string
  /** The branch's commit, and the newest commit of its base. */
  commit: string
  baseCommit: string
  updated: boolean
  remark: string | null
}
/** Why the base could not be merged in, and the titles of its commits that changed the same files, newest first. */
export interface UpdateConflict {
  /** The name of the repository. Empty for the home. */
  repository: string
  problem: Problem
  baseCommit: string
  titles: string[]
}

/**
 * Merges the newest commit of a card's base into its branch in a repository. `workIn` returns the card and the project for the repository.
 * Uncommitted changes are committed first. From then on, the card's changes are compared with that commit. A conflict changes nothing.
 * @param known the newest commit and the name of the card's base, if already fetched
 * @throws Problem NOT_A_GIT_REPOSITORY, AGENT_ALREADY_RUNNING, WORKTREE_DIRTY, CONFLICT
 */
export async function update(
  worktrees: Worktrees,
  db: Database,
  card: CardRow,
  project: ProjectFolder,
  strategy: 'merge' | 'rebase',
  reach: RemoteReach,
  name = home,
  known?: { commit: string; name: string },
): Promise<UpdatedBranch | UpdateConflict> {
  const { checkout, place } = await requireIdleWork(worktrees, card, project)
  const branch = branchOf(card, place)
  const based = await withOpenBase(db, card)
  if (known) await fetchLargeFiles(checkout.repository, known.commit, reach)
  const base: Base = known ?? (await findCardBase({ worktrees, db, checkout, reach, repository: name }, based))
  const onto = base.commit
  if (onto === null) throw new Problem('CONFLICT', "The project's repository has no commits.")
  const commitInBase = place && (await worktrees.run('findLanded', { worktree: place, branch, base: onto }))
  if (commitInBase) {
    const where = { base: known?.name ?? nameOfBase(based, checkout), repository: name }
    await noteLanded(db, card, where)
    return { branch, commit: commitInBase, baseCommit: onto, updated: false, remark: landedWords(where) }
  }
  const title = inOneLine(card.title)
  const message = `Merge: the newest base into "${title}"`
  const { repository } = checkout
  try {
    const work = { repository, place, isManaged: card.worktreeManaged === 1, branch }
    const request = { ...work, onto, strategy, title, message }
    const { updated, commit } = await updateBranch(worktrees, request)
    if (place) await syncBranch(worktrees, place)
    await keepBase(db, { repository: name, card }, onto)
    return { branch, commit, baseCommit: onto, updated, remark: base.remark ?? null }
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== 'MERGE_CONFLICT') throw error
    const files = (error.details ?? []).map(({ path }) => path)
    const titles = await titlesOf(repository.commonDir, { from: card.baseCommit, to: onto, files })
    return { repository: name, problem: error, baseCommit: onto, titles }
  }
}

async function titlesOf(
  commonDir: string,
  { from, to, files }: { from: string | null; to: string; files: readonly string[] },
): Promise<string[]> {
  const range = from === null ? to : `${from}..${to}`
  const { stdout } = await git(commonDir, ['log', '--format=%s', `--max-count=${maxTitles}`, range, '--', ...files], {
    env: inGitDir(commonDir),
  })
  return stdout.toString().split('\n').filter(Boolean)
}

/** Returns the card without its base card if that card is done. The base card's work is then in the project's branch, or was dropped. */
async function withOpenBase(db: Database, card: CardRow): Promise<CardRow> {
  const other = card.baseCardId === null ? undefined : await readCard(db, card.projectId, card.baseCardId)
  return other && other.doneAt === null ? card : { ...card, baseCardId: null }
}

/** The display name of the base that a card's work is updated to. */
const nameOfBase = ({ base, baseCardId }: CardRow, { branch }: IdleWork['checkout']): string =>
  base ?? (baseCardId === null ? (branch ?? 'its base') : `the branch of card ${baseCardId}`)

/** A user's own worktree might be on another branch now. */
function branchOf(card: CardRow, place: Repository | undefined): string {
  const branch = place ? place.branch : card.gitBranch
  if (branch === undefined || branch === null)
    throw new Problem('CONFLICT', "The card's worktree has a detached HEAD. Check out a branch first.")
  return branch
}

const missingBranch = (branch: string) => new Problem('CONFLICT', `The branch ${branch} no longer exists.`)
