import { open, rm } from 'node:fs/promises'
import { Problem } from '../contract/errors.ts'
import type { ProjectFolder } from '../git/folderRecord.ts'
import { kindOf } from '../git/kindOf.ts'
import { GitFailed } from '../git/git.ts'
import { findPlace } from './findPlace.ts'
import type { Worktrees } from './worktrees.ts'

/**
 * Writes a patch of the work that deleting a worktree would lose (`writePatch`) to the new file `file` (0600, synced).
 * @returns whether there was such work. Otherwise, no file exists.
 * @throws Problem WORKTREE_DIRTY, DISK_FULL: no patch exists, and nothing must be deleted
 */
export async function savePatch(
  worktrees: Worktrees,
  project: ProjectFolder,
  worktreePath: string,
  branch: string | null,
  file: string,
): Promise<boolean> {
  if ((await kindOf(worktreePath)) === 'nothing') return false
  const patch = await open(file, 'wx', 0o600)
  try {
    if ((await kindOf(worktreePath)) !== 'folder') throw new GitFailed('failed', 'The worktree is not a folder.')
    const worktree = await findPlace(project, worktreePath)
    await worktrees.run('writePatch', { worktree, branch }, bytes => patch.writeFile(bytes))
    await patch.sync()
    const { size } = await patch.stat()
    await patch.close()
    if (size === 0) await rm(file)
    return size > 0
  } catch (error) {
    await patch.close().catch(() => {})
    await rm(file, { force: true })
    throw toProblem(error)
  }
}

function toProblem(error: unknown): unknown {
  if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return new Problem('DISK_FULL', undefined, { cause: error })
  return new Problem('WORKTREE_DIRTY', 'A patch of the worktree could not be saved, so nothing was deleted.', {
    cause: error,
  })
}
