import { join } from 'node:path'
import type { EffectiveWorktree } from '../contract/projects/worktree.ts'
import { readCheckoutState } from '../git/checkoutState.ts'
import { kindOf } from '../git/kindOf.ts'
import type { ProjectRow } from '../store/projects/projects.ts'
import { portsFrom } from './cardPorts.ts'
import { requireSubfolder, type Workplace, type WorkplaceRepository } from './worktrees.ts'

/** A project's cleanup command, and where it runs. */
export interface Cleanup {
  cardId: number
  project: Pick<ProjectRow, 'id' | 'path' | 'folderRecords' | 'sandbox'>
  place: Workplace
  settings: EffectiveWorktree
  ports: readonly number[]
}
/** Runs a cleanup to its end. A failure is logged, and the worktree is removed anyway. Never rejects. */
export type RunCleanup = (cleanup: Cleanup) => Promise<void>

/** Runs a project's cleanup command before a worktree that the board created is removed. */
export async function cleanUp(
  run: RunCleanup,
  project: Cleanup['project'],
  settings: EffectiveWorktree,
  card: {
    id: number
    path: string
    branch: string | null
    firstPort: number | null
    repositories: readonly WorkplaceRepository[]
  },
): Promise<void> {
  const { id, path, branch, firstPort, repositories } = card
  if (settings.cleanup === '' || (await kindOf(path)) !== 'folder') return
  const top = join(path, (await readCheckoutState(project))?.subfolder ?? '')
  await run({
    cardId: id,
    project,
    // The agent might have removed the subfolder, but the cleanup must still run.
    place: {
      cwd: await requireSubfolder(top, settings.subfolder).catch(() => path),
      worktreePath: path,
      branch,
      isManaged: true,
      baseCommit: null,
      repositories,
    },
    settings,
    ports: firstPort === null ? [] : portsFrom(firstPort, settings.ports),
  })
}
