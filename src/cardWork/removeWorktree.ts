import { Problem } from '../contract/errors.ts'
import { dropWorktree } from '../worktrees/cardWorktrees.ts'
import { readFirstPort } from '../store/cards/cardPorts.ts'
import { listDeletedWithWorktree, type CardRow } from '../store/cards/cards.ts'
import type { Database } from '../store/engine/database.ts'
import { listOpenOfCard } from '../store/forges/pullRequestReads.ts'
import { readProject, type ProjectRow } from '../store/projects/projects.ts'
import { cleanUp, type RunCleanup } from './cleanup.ts'
import { findRepositories, removeOtherWorktrees, requireNoUnsavedWork } from './repositoryWorktrees.ts'
import { hasActiveAgent } from '../views/cards.ts'
import { forgetLanded } from './workInBase.ts'
import { saveCardChange, requireNothingLost } from './worktrees.ts'
import { findWorktreeSettings } from './worktreeSettings.ts'
import type { Worktrees } from '../worktrees/worktrees.ts'

/**
 * Removes a card's managed worktrees, after saving a patch of the work that exists only there, and running its project's cleanup.
 * Its branches stay unless other branches contain all their commits. Ignores an attached worktree. No agent can be running there.
 * @throws Problem CONFLICT, DISK_FULL
 */
export async function removeWorktree(
  worktrees: Worktrees,
  db: Database,
  card: CardRow,
  project: ProjectRow,
  dataDir: string,
  runCleanup: RunCleanup,
): Promise<void> {
  await requireNoUnsavedWork(worktrees, db, card, project, true, dataDir)
  if (card.worktreePath !== null && card.worktreeManaged === 1)
    await removeOwn(worktrees, db, card, card.worktreePath, project, dataDir, runCleanup)
  await removeOtherWorktrees(worktrees, db, card, project)
}

/** The dependencies of removing a card's worktrees. */
export interface Removal {
  dataDir: string
  runCleanup: RunCleanup
  isAtWork(cardId: number): boolean
  /** Ends the processes of an agent that has ended its session. */
  endLate(cardId: number): Promise<void>
}

/**
 * Removes a card's managed worktrees if no work is lost, and clears the note that they are no longer needed.
 * @throws Problem CONFLICT, AGENT_ALREADY_RUNNING, WORKTREE_DIRTY
 */
export async function removeUnneeded(
  worktrees: Worktrees,
  db: Database,
  card: CardRow,
  project: ProjectRow,
  { dataDir, runCleanup, isAtWork, endLate }: Removal,
): Promise<void> {
  if (card.worktreePath === null)
    throw new Problem('CONFLICT', 'The card has no worktree to remove. It gets one when its agent starts.')
  if (card.worktreeManaged === 0)
    throw new Problem(
      'CONFLICT',
      "The board did not create the card's worktree and does not remove its folder. Detach the worktree instead.",
    )
  await endLate(card.id)
  if (hasActiveAgent(card) || isAtWork(card.id))
    throw new Problem(
      'AGENT_ALREADY_RUNNING',
      "An agent or a preview is using the card's worktree. Wait until it finishes, or stop it.",
    )
  // The agent might resume in that worktree and on that branch.
  if ((await listOpenOfCard(db, card.id)).length > 0)
    throw new Problem('CONFLICT', 'The card has an open pull request. Merge or close it first.')
  await requireNothingLost(worktrees, project, card, false, dataDir)
  await requireNoUnsavedWork(worktrees, db, card, project, false, dataDir)
  await removeWorktree(worktrees, db, card, project, dataDir, runCleanup)
  await db.transaction(tx => forgetLanded(tx, card))
}

async function removeOwn(
  worktrees: Worktrees,
  db: Database,
  card: CardRow,
  path: string,
  project: ProjectRow,
  dataDir: string,
  runCleanup: RunCleanup,
): Promise<void> {
  const { id, gitBranch: branch } = card
  await requireNothingLost(worktrees, project, card, true, dataDir)
  const { effective } = await findWorktreeSettings(worktrees, db, project)
  const firstPort = (await readFirstPort(db, id)) ?? null
  const repositories = await findRepositories(db, card, project)
  await cleanUp(runCleanup, project, effective, { id, path, branch, firstPort, repositories })
  const hasBranch = await dropWorktree(worktrees, project, path, branch)
  await saveCardChange(db, card, {
    worktreePath: null,
    ...(!hasBranch && { worktreeManaged: 0, gitBranch: null, baseCommit: null }),
  })
}

/**
 * Removes the worktrees of cards that were deleted before the time, each after saving a patch of the work that exists only there
 * and running its project's cleanup. Continues after a failure.
 * @throws AggregateError with the failures
 */
export async function removeDeleted(
  worktrees: Worktrees,
  db: Database,
  before: string,
  dataDir: string,
  runCleanup: RunCleanup,
): Promise<void> {
  const failures: unknown[] = []
  for (const card of await listDeletedWithWorktree(db, before)) {
    const project = await readProject(db, card.projectId)
    if (project)
      await removeWorktree(worktrees, db, card, project, dataDir, runCleanup).catch(error => failures.push(error))
  }
  if (failures.length > 0)
    throw new AggregateError(failures, `${failures.length} worktrees of deleted cards could not be removed.`)
}
