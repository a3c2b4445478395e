import { dropWorktree } from '../git/cardWorktrees.ts'
import { readFirstPort } from '../store/cardPorts.ts'
import { listDeletedWithWorktree, type CardRow } from '../store/cards.ts'
import type { Database } from '../store/database.ts'
import { readProject, type ProjectRow } from '../store/projects.ts'
import { cleanUp, type RunCleanup } from './cleanup.ts'
import { keep, requireNothingLost } from './worktrees.ts'
import { findWorktreeSettings } from './worktreeSettings.ts'

/**
 * Removes a card's managed worktree after saving a patch of the work that exists only there, and its project's cleanup; its branch stays unless
 * others hold all its commits. Ignores an attached one. No agent may be at work there.
 * @throws Problem CONFLICT, DISK_FULL
 */
async function removeWorktree(
  db: Database,
  card: CardRow,
  project: ProjectRow,
  dataDir: string,
  runCleanup: RunCleanup,
): Promise<void> {
  const { id, worktreePath: path, gitBranch: branch } = card
  if (path === null || card.worktreeManaged === 0) return
  await requireNothingLost(card, true, dataDir)
  const { effective } = await findWorktreeSettings(db, project)
  await cleanUp(runCleanup, project, effective, { id, path, branch, firstPort: (await readFirstPort(db, id)) ?? null })
  const hasBranch = await dropWorktree(project.path, path, branch)
  await keep(db, card, {
    worktreePath: null,
    ...(!hasBranch && { worktreeManaged: 0, gitBranch: null, baseCommit: null }),
  })
}

/**
 * Removes the worktrees of cards that were deleted before the time, each after saving a patch of the work that exists
 * only there and its project's cleanup has run. Continues after a failure.
 * @throws AggregateError with the failures
 */
export async function removeDeleted(
  db: Database,
  before: string,
  dataDir: string,
  runCleanup: RunCleanup,
): Promise<void> {
  const failures: unknown[] = []
  for (const card of await listDeletedWithWorktree(db, before)) {
    const project = await readProject(db, card.projectId)
    if (project) await removeWorktree(db, card, project, dataDir, runCleanup).catch(error => failures.push(error))
  }
  if (failures.length > 0)
    throw new AggregateError(failures, `${failures.length} worktrees of deleted cards could not be removed.`)
}
