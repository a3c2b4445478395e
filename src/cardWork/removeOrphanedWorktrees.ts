import { rmdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { dropSnapshots } from '../git/snapshotRefs.ts'
import type { Database } from '../store/engine/database.ts'
import { deleteOrphan, listOrphans, type Orphan } from '../store/projects/orphanedWorktrees.ts'
import { dropWorktree } from '../worktrees/cardWorktrees.ts'
import { newWorktreePath, type WorktreePlaces } from '../worktrees/worktreePlaces.ts'
import type { Worktrees } from '../worktrees/worktrees.ts'
import { cleanUp, type RunCleanup } from './cleanup.ts'
import { dropLeftover, requireAllKept } from './repositoryWorktrees.ts'
import { effectiveBy } from './worktreeSettings.ts'
import { requireNothingLost } from './worktrees.ts'

interface RemovalDependencies {
  places: WorktreePlaces
  /** Whether processes of an agent or a preview might be running there. */
  isAtWork(cardId: number): boolean
  runCleanup: RunCleanup
  worktrees: Worktrees
}

/**
 * Removes the worktrees of cards whose project or board was deleted, each after saving a patch of the work that exists only there,
 * and running its project's cleanup. A branch stays unless other branches contain all its commits. A worktree stays for the next
 * attempt if an agent is still being ended or an error occurs.
 * @throws AggregateError with the failures
 */
export async function removeOrphanedWorktrees(db: Database, dependencies: RemovalDependencies): Promise<void> {
  const failures: unknown[] = []
  for (const { id, ...orphan } of await listOrphans(db)) {
    if (dependencies.isAtWork(orphan.card.id)) continue
    await removeOrphan(orphan, dependencies)
      .then(() => db.transaction(tx => deleteOrphan(tx, id)))
      .catch((error: unknown) => failures.push(error))
  }
  if (failures.length > 0)
    throw new AggregateError(failures, `The worktrees of ${failures.length} deleted cards could not be removed.`)
}

async function removeOrphan(
  { project, agreements, card }: Orphan,
  { places, runCleanup, worktrees }: RemovalDependencies,
): Promise<void> {
  const { id, branch, firstPort, repositories, snapshots, otherSnapshots } = card
  const { dataDir } = places
  // If no path is recorded, the creation of the worktree might have been interrupted.
  const path = card.path ?? newWorktreePath(places, project.id, id)
  await requireNothingLost(worktrees, project, { id, worktreePath: path, gitBranch: branch }, true, dataDir)
  await requireAllKept(worktrees, project.folderRecords, { id }, repositories, true, dataDir)
  const settings = await effectiveBy(worktrees, project, agreements)
  await cleanUp(runCleanup, project, settings, { id, path, branch, firstPort, repositories })
  await dropWorktree(worktrees, project, path, branch)
  for (const each of repositories) await dropLeftover(worktrees, project.folderRecords, each)
  await dropSnapshots(project.path, id, snapshots)
  for (const { path: repository, snapshot } of otherSnapshots) await dropSnapshots(repository, id, [snapshot])
  await rmdir(dirname(path)).catch(() => {
    /* The folder contains worktrees of other cards. */
  })
}
