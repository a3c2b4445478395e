import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Problem } from '../../contract/errors.ts'
import { namePaths, pathDetails } from '../namePaths.ts'
import { listLocalChanges } from './changes.ts'
import { adoptIdentical } from './adoptIdentical.ts'
import { inCheckout } from './checkout.ts'
import { copyIndexFile } from '../../git/gitFolder.ts'
import { openQuarantine } from './quarantine.ts'
import type { WorkingTree } from '../../git/workingTrees.ts'
import type { Send } from '../send.ts'
import { requireNoneReplaced } from './requireNoneReplaced.ts'

const timeoutMs = 10 * 60_000

/** A change of the files of a worktree. */
export interface FileMove {
  /** The commit of the files and the index; null if there are no files yet. */
  from: string | null
  to: string
  /** The file of the Git folder that is the index of `from`. */
  index: string
  /** Whether to check only if the files could be moved. */
  isTrial: boolean
}

/**
 * Moves the files of a worktree from one commit to another one. Sends the index that matches them. Programs of the repository's
 * configuration do not run. Filters of the account's configuration do.
 * @throws Problem WORKTREE_DIRTY, GitFailed; then the files are unchanged
 */
export const moveFiles = (place: WorkingTree, { from, to, index, isTrial }: FileMove, send: Send): Promise<void> =>
  inCheckout(place, async (run, gitDir) => {
    if (index !== 'index') await copyIndexFile(join(place.gitDir, index), join(gitDir, 'index'))
    if (from !== null) {
      const { topLevel } = place
      const adopted = await adoptIdentical(run, { gitDir, topLevel }, from, to)
      if (index === 'index') await requireMovable(topLevel, adopted)
      await requireNoneReplaced(run, topLevel, { from, to, adopted })
    }
    const change = from === null ? ['--reset', '-u', to] : ['-m', '-u', ...(isTrial ? ['-n'] : []), from, to]
    await run(['read-tree', ...change], { timeoutMs })
    if (!isTrial) await send(await readFile(join(gitDir, 'index')), 'index')
  })

/** Ensures that the tracked files of a worktree have no local changes, except the `adopted` ones. @throws Problem WORKTREE_DIRTY; GitFailed */
async function requireMovable(topLevel: string, adopted: ReadonlySet<string>): Promise<void> {
  // Uses the repository's index, because the files are moved according to that index. A commit of the board has just changed it.
  const quarantine = await openQuarantine(topLevel, tmpdir(), undefined, 'repository')
  try {
    const paths = (await listLocalChanges(quarantine)).filter(path => !adopted.has(path))
    if (paths.length > 0)
      throw new Problem(
        'WORKTREE_DIRTY',
        `The branch is checked out in ${topLevel}, with local changes in ${namePaths(paths)}. Commit or discard them first. Nothing was changed.`,
        { details: pathDetails(paths, 'has local changes') },
      )
  } finally {
    await quarantine.close()
  }
}
