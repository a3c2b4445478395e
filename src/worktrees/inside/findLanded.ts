import { tmpdir } from 'node:os'
import { isChanged } from './changes.ts'
import { isAlreadyInBase } from './isAlreadyInBase.ts'
import { openQuarantine } from './quarantine.ts'
import type { Repository } from '../../git/workingTrees.ts'

/**
 * Returns the commit of a worktree if a base contains all of its work in other commits, for example after a squash or a rebase. Returns
 * null if the base lacks some of it, if some is uncommitted, or if the worktree has no work.
 * @throws GitFailed
 */
export async function findLanded(worktree: Repository, branch: string, base: string): Promise<string | null> {
  const quarantine = await openQuarantine(worktree.topLevel, tmpdir(), worktree)
  try {
    const tip = (await quarantine.refs()).find(({ name }) => name === `refs/heads/${branch}`)?.id
    if (tip === undefined || (await isChanged(quarantine))) return null
    const own = await quarantine.run(['rev-list', '--max-count=1', `${base}..${tip}`])
    return own.length > 0 && (await isAlreadyInBase(quarantine, tip, base)) ? tip : null
  } finally {
    await quarantine.close()
  }
}
