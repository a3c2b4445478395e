import { Problem } from '../contract/errors.ts'
import type { Worktrees } from './worktrees.ts'

/** Creates the folder of a worktree in which a project's agents work. @throws Problem CONFLICT if something else is in its place */
export async function createSubfolder(worktrees: Worktrees, worktreePath: string, subfolder: string): Promise<void> {
  await worktrees
    .run('createFolder', { worktree: { topLevel: worktreePath }, path: subfolder })
    .catch((error: unknown) => {
      throw new Problem('CONFLICT', `The folder ${subfolder} of the worktree could not be created.`, { cause: error })
    })
}
