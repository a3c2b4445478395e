import { noteLanded } from '../cardWork/workInBase.ts'
import { workIn } from '../cardWork/repositoryWork.ts'
import { readCheckoutState } from '../git/checkoutState.ts'
import { fetchBranch } from './branchHead.ts'
import { Problem } from '../contract/errors.ts'
import { changeCardIfThere } from '../domain/cards/cardChanges.ts'
import { moveAfterRequest } from '../domain/cards/completion.ts'
import { removeWorktree } from '../cardWork/removeWorktree.ts'
import { noteMerged } from '../cardWork/mergedWork.ts'
import { requireNoUnsavedWork } from '../cardWork/repositoryWorktrees.ts'
import * as pulls from '../domain/forges/pullRequests.ts'
import { cancelled, notStarted, type Ending } from '../domain/agents/sessions.ts'
import { isClean, syncedWorktree } from '../worktrees/findWorktree.ts'
import { readCard, type CardRow } from '../store/cards/cards.ts'
import { readColumn, readFirstColumn, type ColumnRow } from '../store/boards/columns.ts'
import type { Reader, Transaction } from '../store/engine/database.ts'
import type { ProjectRow } from '../store/projects/projects.ts'
import { readPullRequest, type PullRequestRow } from '../store/forges/pullRequests.ts'
import { hasOtherOpen } from '../store/forges/pullRequestReads.ts'
import { hasActiveAgent } from '../views/cards.ts'
import { readContext, type LoopDependencies } from './loopDependencies.ts'

const merged: Ending = { status: 'completed', detail: 'Its pull request was merged.' }
const closed: Ending = { ...cancelled, detail: 'Its pull request was closed.' }
/** The interval of checks for whether a column has capacity, and whether an agent's processes have ended. */
export const retryMs = 2000

/**
 * The steps after the end of a pull request: its agent ends and the card moves according to its column, then the worktree of a
 * merged pull request is removed if no work is lost.
 * @returns whether all is done
 */
export async function finishPullRequest(dependencies: LoopDependencies, id: number): Promise<boolean> {
  const row = await moveCard(dependencies, id)
  if (row?.phase === 'removingWorktree') return removeOrKeepWorktree(dependencies, id)
  return row?.phase !== 'movingCard'
}

/** Ends the card's agent and moves the card, unless the target column is full. */
const moveCard = ({ db, agents }: LoopDependencies, id: number): Promise<PullRequestRow | undefined> =>
  db.transaction(async tx => {
    const request = await readContext(tx, id)
    if (request?.row.phase !== 'movingCard') return request?.row
    const { row, card } = request
    const isMerged = row.state === 'merged'
    // With pull requests in several repositories, the last one decides.
    const stays = card.archivedAt !== null || (await hasOtherOpen(tx, row))
    const column = stays ? undefined : await columnAfter(tx, card, isMerged)
    const ends = isMerged ? !(await hasOtherOpen(tx, row)) : column !== undefined
    if (isMerged) await noteRequestMerged(tx, card, row, ends)
    const isThere = !ends || (await moveAfterRequest(tx, agents, card, column, isMerged ? merged : closed))
    return isThere ? pulls.change(tx, row, { phase: isMerged ? 'removingWorktree' : 'finished' }) : row
  })

/** Records the forge's merge. With pull requests in several repositories, the card is merged once the last one is. */
async function noteRequestMerged(
  tx: Transaction,
  { id, projectId }: CardRow,
  { repository, branch, base: into, mergeCommit, headCommit }: PullRequestRow,
  isWhole: boolean,
): Promise<void> {
  const commit = mergeCommit ?? headCommit
  const card = await readCard(tx, projectId, id)
  if (card && commit !== null)
    await noteMerged(
      tx,
      card,
      [{ repository, branch, into, commit, head: headCommit ?? commit, byForge: true }],
      isWhole,
    )
}

/**
 * The target column of a card. The settings of its current column take precedence. Otherwise, a merged card that is not done moves to the
 * first done column.
 */
async function columnAfter(db: Reader, card: CardRow, isMerged: boolean): Promise<ColumnRow | undefined> {
  const at = await readColumn(db, card.columnId)
  const named = isMerged ? at?.mergedColumnId : at?.closedColumnId
  if (named !== null && named !== undefined) return readColumn(db, named)
  const isDone = at?.columnType === 'done' || at?.columnType === 'archive'
  return isMerged && !isDone ? readFirstColumn(db, card.boardId, 'done') : undefined
}

/** Whether all work in a card's worktrees was pushed, or is part of its pull requests. */
async function losesNothing(
  { db, dataDir, worktrees }: LoopDependencies,
  card: CardRow,
  project: ProjectRow,
): Promise<boolean> {
  const home = await readPullRequest(db, card.id)
  const landed = home?.headCommit ?? undefined
  if (!(await isClean(worktrees, project, card.worktreePath!, card.gitBranch, landed))) return false
  try {
    await requireNoUnsavedWork(worktrees, db, card, project, false, dataDir)
    return true
  } catch (error) {
    if (error instanceof Problem && error.code === 'WORKTREE_DIRTY') return false
    throw error
  }
}

/** Notifies users if the work of a closed pull request is already in its base, for example after a manual merge. */
export async function recordWorkInBase(dependencies: LoopDependencies, id: number): Promise<void> {
  const request = await readContext(dependencies.db, id)
  if (request?.row.state !== 'closed' || request.row.phase !== 'movingCard') return
  const { card, project } = await workIn(dependencies.db, request.card, request.project, request.row.repository)
  const checkout = await readCheckoutState(project)
  const place = checkout && (await syncedWorktree(dependencies.worktrees, checkout.repository, card.worktreePath))
  const base = checkout && place && (await fetchBranch(dependencies, project, checkout, request.row.base))
  if (!base || 'reason' in base) return
  const { branch, base: name, repository } = request.row
  if (await dependencies.worktrees.run('findLanded', { worktree: place, branch, base: base.commit }))
    await noteLanded(dependencies.db, card, { base: name, repository })
}

/**
 * Removes the worktree of a merged pull request. Uncommitted changes, or work outside of the pull request, prevent the removal.
 */
async function removeOrKeepWorktree(dependencies: LoopDependencies, id: number): Promise<boolean> {
  const { db, worktrees, dataDir, isAtWork, runCleanup } = dependencies
  const request = await readContext(db, id)
  if (!request) return true
  const { row, card, project } = request
  if (hasActiveAgent(card) || isAtWork(card.id)) return false
  const isOwn = card.worktreePath !== null && card.worktreeManaged === 1 && !(await hasOtherOpen(db, row))
  const isLossless = isOwn && (await losesNothing(dependencies, card, project))
  if (isLossless) await removeWorktree(worktrees, db, card, project, dataDir, runCleanup)
  await db.transaction(async tx => {
    const present = await readContext(tx, id)
    if (!present) return
    if (isOwn && !isLossless) {
      const message =
        "The card's pull request was merged. The worktree remains, because it has work that was not part of the pull request."
      await changeCardIfThere(tx, card, { lastAgentAction: notStarted(tx, { message }), unread: true })
    }
    if (present.row.phase === 'removingWorktree') await pulls.change(tx, present.row, { phase: 'finished' })
  })
  return true
}
