import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Problem } from '../../contract/errors.ts'
import { withFilter } from '../../git/filters.ts'
import { filteredProblem } from '../filteredProblem.ts'
import { openQuarantine } from './quarantine.ts'
import { requireNoneOmitted } from './requireNoneOmitted.ts'
import type { Repository } from '../../git/workingTrees.ts'
import { packTree, snapshotOf } from './snapshot.ts'
import { largeFilesOf } from '../../git/largeFiles.ts'
import { shadowOf } from '../../git/shadow.ts'
import type { Send } from '../send.ts'
import { sendLargeFiles } from './sendLargeFiles.ts'

const everything = { maxFiles: Infinity, maxFileBytes: Infinity, maxBytes: Infinity, hasUntrackedRepositories: false }

export interface SnapshotRules {
  /** The names of the repository's filters, which do not run. The board must not commit files that have such a filter. */
  filters: readonly string[]
  /** Whether repositories inside must have no work that a commit of the worktree would omit. */
  requiresWhole: boolean
}

/**
 * Returns the tree of all files of a worktree, or null if it equals the tree of the HEAD commit. Sends a pack of its new objects, its new
 * large files, and the index that matches the tree and the files.
 * @throws Problem CONFLICT (no commit, conflicts, changed files with a filter, repositories inside); GitFailed
 */
export async function snapshotAll(
  worktree: Repository,
  { filters, requiresWhole }: SnapshotRules,
  send: Send,
): Promise<string | null> {
  const quarantine = await openQuarantine(worktree.topLevel, tmpdir(), worktree)
  try {
    const { head } = quarantine
    if (head === undefined) throw new Problem('CONFLICT', 'The worktree has no commits.')
    if ((await quarantine.run(['ls-files', '-z', '--unmerged'])).length > 0)
      throw new Problem('CONFLICT', "The card's worktree has unresolved conflicts. Resolve them first.")
    const { tree, changed, nested } = await snapshotOf(quarantine, everything)
    if (requiresWhole) await requireNoneOmitted(quarantine, nested, tree)
    if (tree === (await quarantine.run(['rev-parse', `${head}^{tree}`])).toString().trim()) return null
    const filtered = await withFilter(quarantine.run, changed, filters)
    if (filtered.length > 0) throw filteredProblem(filtered)
    await packTree(quarantine, tree, bytes => send(bytes, 'pack'))
    const shadow = await shadowOf(worktree)
    const stores = [quarantine.gitDir, ...(shadow ? [shadow.common] : [])].map(largeFilesOf)
    const known = largeFilesOf(worktree.commonDir)
    await sendLargeFiles(quarantine.run, [tree, `^${head}`], { stores, known }, send)
    // A split index would refer to a part in the temporary folder.
    await quarantine.run(['update-index', '--no-split-index'])
    await send(await readFile(join(quarantine.gitDir, 'index')), 'index')
    return tree
  } finally {
    await quarantine.close()
  }
}
