import type { AfterMerge, DoneAfterMerge } from '../contract/forges/afterMerge.ts'
import { Problem } from '../contract/errors.ts'
import type { CardRow } from '../store/cards/cards.ts'
import type { Database } from '../store/engine/database.ts'
import { mergesOf } from '../store/forges/merges.ts'
import { afterMergeOf, type ProjectRow } from '../store/projects/projects.ts'
import type { Worktrees } from '../worktrees/worktrees.ts'
import { actorOf } from '../domain/cards/activity.ts'
import type { Caller } from '../domain/accounts/caller.ts'
import { complete } from '../domain/cards/completion.ts'
import * as cards from '../domain/cards/cards.ts'
import { removeUnneeded, type Removal } from './removeWorktree.ts'
import { noteMerged, type NewMerge } from './mergedWork.ts'
import { isOtherwiseMerged, mergeRepositories, type MergedRepository, type MergeOptions } from './mergeRepositories.ts'
import { find as findProject } from '../domain/projects/projects.ts'
import { requireMergeProofs, withProofs } from './provedTrees.ts'
import { workIn } from './repositoryWork.ts'
import type { Agents } from '../domain/agents/sessions.ts'

export interface MergeDependencies {
  db: Database
  worktrees: Worktrees
  agents: Agents
  removal: Removal
}
export interface MergedCard {
  repositories: MergedRepository[]
  after: DoneAfterMerge
}

/**
 * Merges a card's work as `mergeRepositories` does, and records the merge. Once all of its repositories with work are merged,
 * this moves the card to its board's first done column and removes its worktrees, according to the request or, by default, the
 * project.
 * With `force`, an admin of the project merges without the proofs of the gates.
 * @throws Problem as `mergeRepositories`; GATE_NOT_PASSED; INSUFFICIENT_PERMISSIONS if an API key must not move cards
 */
export async function mergeCard(
  dependencies: MergeDependencies,
  ref: cards.StartRef,
  { moveToDone, removeWorktree, force, ...options }: MergeOptions & Partial<AfterMerge> & { force: boolean },
): Promise<MergedCard> {
  const { db, worktrees } = dependencies
  const { caller } = ref
  if (moveToDone && caller.key && !caller.key.permissions.includes('cards.move'))
    throw new Problem(
      'INSUFFICIENT_PERMISSIONS',
      'The API key lacks the permission cards.move, which moveToDone requires.',
    )
  const [card, project] = [await cards.find(db, ref), await findProject(db, ref.projectId)]
  await dependencies.removal.endLate(card.id)
  const proved = await requireMergeProofs(dependencies, card, project, { caller, force })
  const repositories = await mergeRepositories(worktrees, db, card, project, { ...options, proved })
  const merges = await withWork(db, card, project, repositories)
  if (merges.length === 0) return { repositories, after: nothingDone }
  const names = merges.map(({ repository }) => repository)
  const isWhole = options.repository === undefined || (await isOtherwiseMerged(worktrees, db, card, project, names))
  const noted = await db.transaction(
    async tx => noteMerged(tx, await cards.find(tx, ref), merges.map(mergeOf), isWhole),
    actorOf(caller),
  )
  const usual = afterMergeOf(project)
  const wanted = {
    moveToDone: moveToDone ?? usual.moveToDone,
    removeWorktree: removeWorktree ?? usual.removeWorktree,
  }
  return { repositories, after: await finishMerge(dependencies, noted, project, caller, wanted) }
}

/** The record of a merge by the board. */
export const mergeOf = ({
  repository,
  branch,
  into,
  commit,
  head,
}: Pick<MergedRepository, 'repository' | 'branch' | 'into' | 'commit' | 'head'>): NewMerge => ({
  repository,
  branch,
  into,
  commit,
  head,
  byForge: false,
})

const nothingDone: DoneAfterMerge = { movedToDone: false, removedWorktree: false, problem: null }

/** The repositories in which the card has work. A branch that is still at its base has no work. */
async function withWork(
  db: Database,
  card: CardRow,
  project: ProjectRow,
  all: readonly MergedRepository[],
): Promise<MergedRepository[]> {
  const found: MergedRepository[] = []
  for (const each of all) {
    const { baseCommit } = (await workIn(db, card, project, each.repository)).card
    const isKnown = mergesOf(card).some(({ repository, head }) => repository === each.repository && head === each.head)
    if (each.merged || isKnown || (baseCommit !== null && each.head !== baseCommit)) found.push(each)
  }
  return found
}

/**
 * Runs the steps after a merge. The merge is final, so a failed step is reported, and the next one still runs.
 * @param caller who merges; undefined for the board
 */
export async function finishMerge(
  { db, worktrees, agents, removal }: MergeDependencies,
  merged: CardRow,
  project: ProjectRow,
  caller: Caller | undefined,
  { moveToDone, removeWorktree }: AfterMerge,
): Promise<DoneAfterMerge> {
  const ref = { projectId: merged.projectId, cardId: merged.id, caller }
  const problems: string[] = []
  const attempt = (work: () => Promise<unknown>): Promise<boolean> =>
    work().then(
      () => true,
      (error: unknown) => {
        if (!(error instanceof Problem) || error.status >= 500) throw error
        problems.push(error.message)
        return false
      },
    )
  if ((moveToDone || removeWorktree) && merged.mergedAt === null)
    return { ...nothingDone, problem: 'The card has work in other repositories that is not merged.' }
  const moves = moveToDone && merged.columnType !== 'done' && merged.archivedAt === null
  const moveToDoneColumn = async () => {
    await withProofs({ db, worktrees }, ref, proved =>
      db.transaction(tx => complete(tx, agents, proved), caller && actorOf(caller)),
    )
  }
  const movedToDone = moves && (await attempt(moveToDoneColumn))
  const hasWorktree = merged.worktreePath !== null && merged.worktreeManaged === 1
  const removedWorktree =
    removeWorktree &&
    hasWorktree &&
    (await attempt(async () => removeUnneeded(worktrees, db, await cards.find(db, ref), project, removal)))
  return { movedToDone, removedWorktree, problem: problems.join(' ') || null }
}
