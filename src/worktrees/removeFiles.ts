import { rm, rmdir } from 'node:fs/promises'
import { kindOf } from '../git/kindOf.ts'
import type { Worktrees } from './worktrees.ts'

/** Removes a folder, with its content, that an agent could have changed. Does nothing if the folder is missing. */
export async function removeFiles(worktrees: Worktrees, path: string): Promise<void> {
  if ((await kindOf(path)) !== 'folder') return rm(path, { force: true })
  await worktrees.run('clearFiles', { worktree: { topLevel: path } })
  await rmdir(path)
}
