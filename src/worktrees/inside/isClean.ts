import { tmpdir } from 'node:os'
import { isAbsolute, join, relative } from 'node:path'
import { isChanged, losesCommits, surveyChanges } from './changes.ts'
import { gitOutput, inGitDir } from '../../git/git.ts'
import { kindOf } from '../../git/kindOf.ts'
import { keptRefs, modulesOf } from '../../git/submodules.ts'
import { isMain, listWorkingTrees, type WorkingTree } from '../../git/workingTrees.ts'
import { openQuarantine, type Quarantine } from './quarantine.ts'
import { isWorkingTree, type WorktreePlace } from '../worktreeMounts.ts'
import { shadowOf } from '../../git/shadow.ts'
import { hasOwnCommits } from './shadowRefs.ts'

const maxLevels = 16
const maxRefsBytes = 64 * 1024 * 1024

/** Whether deleting a worktree loses nothing, as `isClean` in `findWorktree.ts` describes. @throws GitFailed */
export async function isClean(worktree: WorktreePlace, branch: string | null, landed?: string): Promise<boolean> {
  const shadow = isWorkingTree(worktree) ? await shadowOf(worktree) : undefined
  if (shadow && (await hasOwnCommits(shadow))) return false
  return isCleanAt(worktree.topLevel, branch, 0, async () => (landed === undefined ? [] : [landed]), worktree)
}

/** @param elsewhere lists commits that are not lost */
async function isCleanAt(
  path: string,
  branch: string | null | undefined,
  level: number,
  elsewhere: (quarantine: Quarantine) => Promise<readonly string[]>,
  worktree: WorktreePlace,
): Promise<boolean> {
  if (level > maxLevels) return false
  const quarantine = await openQuarantine(path, tmpdir())
  try {
    if (await isChanged(quarantine)) return false
    if (await losesCommits(quarantine, branch, await elsewhere(quarantine))) return false
    const keptOf = ({ repository }: Quarantine) => listKept(worktree, repository)
    for (const nested of (await surveyChanges(quarantine)).nested)
      if (!(await isCleanAt(join(quarantine.topLevel, nested.path), undefined, level + 1, keptOf, worktree)))
        return false
    return true
  } finally {
    await quarantine.close()
  }
}

/** Lists the commits of a worktree's submodule that other working trees of the repository keep, for example after a merge. */
async function listKept(worktree: WorktreePlace, submodule: WorkingTree | undefined): Promise<string[]> {
  if (!isWorkingTree(worktree) || !submodule) return []
  const name = relative(modulesOf(worktree), submodule.gitDir)
  if (isAbsolute(name) || name.startsWith('..')) return []
  const kept: string[] = []
  for (const other of await listWorkingTrees(worktree)) {
    const store = join(modulesOf(other), name)
    if (other.gitDir === worktree.gitDir || (await kindOf(store)) !== 'folder') continue
    // A linked worktree that is deleted loses all refs of its submodules except `keptRefs`.
    const refs = isMain(other) ? 'refs' : keptRefs
    const args = ['for-each-ref', '--format=%(objectname)', refs]
    const listed = await gitOutput(store, args, { env: inGitDir(store), maxBytes: maxRefsBytes })
    kept.push(...listed.toString().split('\n').slice(0, -1))
  }
  return kept
}
