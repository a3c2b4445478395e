import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isChanged, losesCommits, survey } from './changes.ts'
import { openQuarantine } from './quarantine.ts'
import { isWorkingTree, type WorktreePlace } from '../worktreeMounts.ts'
import { shadowOf } from '../../git/shadow.ts'
import { hasOwnCommits } from './shadowRefs.ts'

const maxLevels = 16

/** Whether deleting a worktree loses nothing, as `isClean` in `findWorktree.ts` describes. @throws GitFailed */
export async function isClean(worktree: WorktreePlace, branch: string | null, landed?: string): Promise<boolean> {
  const shadow = isWorkingTree(worktree) ? await shadowOf(worktree) : undefined
  if (shadow && (await hasOwnCommits(shadow))) return false
  return isCleanAt(worktree.topLevel, branch, 0, landed)
}

async function isCleanAt(
  path: string,
  branch: string | null | undefined,
  level: number,
  landed?: string,
): Promise<boolean> {
  if (level > maxLevels) return false
  const quarantine = await openQuarantine(path, tmpdir())
  try {
    if ((await isChanged(quarantine)) || (await losesCommits(quarantine, branch, landed))) return false
    for (const nested of (await survey(quarantine)).nested)
      if (!(await isCleanAt(join(quarantine.topLevel, nested.path), undefined, level + 1))) return false
    return true
  } finally {
    await quarantine.close()
  }
}
