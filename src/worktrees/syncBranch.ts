import { copyFile, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { requireNotInUse } from '../git/branchInUse.ts'
import { GitFailed, GitMissing, git, gitOutput } from '../git/git.ts'
import { kindOf } from '../git/kindOf.ts'
import { withRepositoryLock } from '../git/repositoryLock.ts'
import {
  outsideRef,
  listShadows,
  refOf,
  shadowOf,
  tipOutside,
  writeState,
  type Shadow,
  type ShadowState,
} from '../git/shadow.ts'
import { isMain, type WorkingTree } from '../git/workingTrees.ts'
import { receiveObjects } from './receiveObjects.ts'
import type { Worktrees } from './worktrees.ts'

const retryMs = 30_000
const maxReasonLength = 500

/**
 * none: the agent has no separate Git folder, or no new commit. moved: the branch is on the agent's commit now.
 * refused: the branch could not be moved and is unchanged. The agent's commits stay in its Git folder.
 */
export interface BranchSync {
  state: 'none' | 'moved' | 'refused'
  reason?: string
}

/**
 * Takes over the commits that an agent created in its sandbox: the objects, checked, and then only the card's own branch. Commits
 * that were created outside are shown to the agent.
 * Never call it with the repository's lock held.
 * @throws Problem CONFLICT if there are new commits and this machine has no Git
 */
export async function syncBranch(worktrees: Worktrees, worktree: WorkingTree): Promise<BranchSync> {
  const shadow = await shadowOf(worktree)
  if (!shadow) return { state: 'none' }
  try {
    if (!(await hasMoved(worktrees, shadow))) return { state: 'none' }
    return await withRepositoryLock(shadow.commonDir, () => syncLocked(worktrees, shadow))
  } catch (error) {
    if (error instanceof GitFailed) return { state: 'refused', reason: reasonIn(error) }
    throw error
  }
}

/** Calls `syncBranch` for every sandboxed worktree of the repository that is on the branch. */
export async function syncWorktreesOn(worktrees: Worktrees, known: WorkingTree, branch: string): Promise<void> {
  for (const shadow of await listShadows(known)) if (shadow.state.branch === branch) await syncBranch(worktrees, shadow)
}

async function hasMoved(worktrees: Worktrees, shadow: Shadow): Promise<boolean> {
  const [inside, outside] = await Promise.all([worktrees.run('readTip', { worktree: shadow }), tipOutside(shadow)])
  return inside !== (outside ?? null) || inside !== shadow.state.tip
}

/** The part of `syncBranch` that requires the repository's lock. Changes the shadow's state. */
export async function syncLocked(worktrees: Worktrees, shadow: Shadow): Promise<BranchSync> {
  const outside = await tipOutside(shadow)
  // A branch without a commit gets its first one. A branch that was deleted does not come back.
  if (outside === undefined && (shadow.state.branch === null || shadow.state.tip !== null)) return { state: 'none' }
  const refused = recentRefusal(shadow.state, outside)
  const known = [outside, shadow.state.tip, refused?.tip].filter(id => id !== null && id !== undefined)
  const commits = receiveObjects(shadow.commonDir, shadow.folder, outside ?? '')
  let inside: string | null = null
  try {
    inside = (await worktrees.run('exportTip', { worktree: shadow, known }, commits.write)).tip
    if (inside === (outside ?? null)) return await settleBranch(shadow, inside, 'none')
    if (inside === null || inside === shadow.state.tip) {
      if (outside !== undefined) await worktrees.run('importTip', { worktree: shadow, tip: outside })
      return await settleBranch(shadow, outside ?? null, 'none')
    }
    if (refused && inside === refused.tip) return { state: 'refused', reason: refused.reason }
    await commits.accept(inside, 'commit')
    await takeOver(worktrees, shadow, inside, outside)
    await worktrees.run('dropTaken', { worktree: shadow })
    return await settleBranch(shadow, inside, 'moved')
  } catch (error) {
    if (error instanceof GitMissing) throw error
    const reason = reasonIn(error)
    shadow.state.refused = { tips: `${inside} ${outside}`, reason, until: Date.now() + retryMs }
    await writeState(shadow.folder, shadow.state).catch(() => {})
    return { state: 'refused', reason }
  } finally {
    await commits.close()
  }
}

/** The commit that was refused a short time ago while the outside branch was at the same commit. */
function recentRefusal(
  { refused }: ShadowState,
  outside: string | undefined,
): { tip: string; reason: string } | undefined {
  const [tip, before] = refused?.tips.split(' ') ?? []
  return refused && before === String(outside) && refused.until > Date.now()
    ? { tip: tip!, reason: refused.reason }
    : undefined
}

const reasonIn = (error: unknown): string => String((error as Error).message).slice(0, maxReasonLength)

async function settleBranch(shadow: Shadow, tip: string | null, state: 'none' | 'moved'): Promise<BranchSync> {
  if (shadow.state.tip !== tip) {
    shadow.state.tip = tip
    delete shadow.state.refused
    await writeState(shadow.folder, shadow.state)
  }
  return { state }
}

async function takeOver(
  worktrees: Worktrees,
  shadow: Shadow,
  inside: string,
  outside: string | undefined,
): Promise<void> {
  const { commonDir, gitDir, state } = shadow
  const env = { GIT_DIR: gitDir }
  if (outside !== undefined && outside !== state.tip) {
    const { exitCode } = await git(commonDir, ['merge-base', '--is-ancestor', outside, inside], { env })
    if (exitCode !== 0) {
      await worktrees.run('showOutside', { worktree: shadow, tip: outside })
      throw new GitFailed(
        'failed',
        isMain(shadow)
          ? `The branch has also moved in the repository. Run git reset ${outsideRef}, and commit again.`
          : `The branch has also moved in the repository. Merge ${outsideRef} in the worktree, so that the board can transfer it.`,
      )
    }
  }
  if (state.branch !== null) await requireNotInUse(shadow, state.branch)
  await gitOutput(
    commonDir,
    [
      'update-ref',
      '--no-deref',
      '-m',
      'board: from the sandbox',
      refOf(state),
      inside,
      outside ?? '0'.repeat(inside.length),
    ],
    { env },
  )
  await followWithIndex(shadow, inside).catch(() => {
    /* Outside, Git shows unchanged files as changed until the next commit. */
  })
}

/** Moves the worktree's outside index to the commit. The next Git command reads files again that differ from the old index. */
async function followWithIndex({ folder, gitDir, commonDir, state }: Shadow, tip: string): Promise<void> {
  const head = (await readFile(join(gitDir, 'HEAD'), 'utf8')).trim()
  if (state.branch !== null && head !== `ref: refs/heads/${state.branch}`) return
  const [index, next, lock] = [join(gitDir, 'index'), join(folder, 'index.new'), join(gitDir, 'index.lock')]
  await writeFile(lock, '', { flag: 'wx' })
  try {
    // A worktree without commits can have no index.
    if ((await kindOf(index)) === 'file') await copyFile(index, next)
    else await rm(next, { force: true })
    await gitOutput(commonDir, ['-c', 'core.splitIndex=false', 'read-tree', '--reset', tip], {
      env: { GIT_DIR: gitDir, GIT_INDEX_FILE: next },
    })
    await rename(next, index)
  } finally {
    await rm(lock, { force: true })
  }
}
