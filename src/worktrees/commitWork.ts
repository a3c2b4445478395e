import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Problem } from '../contract/errors.ts'
import { requireNoFilters } from '../git/filters.ts'
import { GitFailed } from '../git/git.ts'
import { identityOf } from '../git/identity.ts'
import { takeIndex } from '../git/indexLock.ts'
import { openQuarantine, type Quarantine } from '../git/quarantine.ts'
import { findRepository, type Repository } from '../git/repository.ts'
import { withRepositoryLock } from '../git/repositoryLock.ts'
import { snapshotOf } from '../git/snapshot.ts'
import { syncBranch } from './syncBranch.ts'
import type { Worktrees } from './worktrees.ts'

/** How long one Git command that writes may take. */
export const writeTimeoutMs = 5 * 60_000
const everything = { maxFiles: Infinity, maxFileBytes: Infinity, maxBytes: Infinity }

/**
 * Commits what is uncommitted in a card's worktree to its branch, and takes over what an agent behind walls has committed.
 * @returns the branch's commit
 * @throws Problem CONFLICT (conflicts of its own, Git is at work there or failed)
 */
export async function commitWorktree(
  worktrees: Worktrees,
  projectPath: string,
  place: Repository,
  title: string,
): Promise<string> {
  await requireSynced(worktrees, place.topLevel)
  // What is synced may have moved the branch.
  const moved = (await findRepository(place.topLevel)) ?? place
  const work = await withRepositoryLock(moved.commonDir, () =>
    withWriting(projectPath, moved, moved, quarantine =>
      withCommitted(quarantine, moved, title, async (made, moveBranch) => {
        await moveBranch()
        return made
      }),
    ),
  ).catch((error: unknown) => {
    if (!(error instanceof GitFailed)) throw error
    throw new Problem('CONFLICT', "Git could not commit what the card's worktree holds.", { cause: error })
  })
  await syncBranch(worktrees, place.topLevel)
  return work
}

/** Takes over what an agent with a Git folder of its own has committed. @throws Problem CONFLICT */
export async function requireSynced(worktrees: Worktrees, worktreePath: string): Promise<void> {
  const { state, reason } = await syncBranch(worktrees, worktreePath)
  if (state === 'refused')
    throw new Problem('CONFLICT', `What the card's agent has committed cannot be taken over. ${reason}`)
}

/** Opens `place` in quarantine such that new objects go into the repository, with the author of the project's folder. */
export async function withWriting<T>(
  projectPath: string,
  { commonDir }: Repository,
  place: Repository,
  use: (quarantine: Quarantine) => Promise<T>,
): Promise<T> {
  const quarantine = await openQuarantine(place.topLevel, tmpdir(), place)
  try {
    const env = { GIT_OBJECT_DIRECTORY: join(commonDir, 'objects'), ...(await identityOf(projectPath)) }
    const run: Quarantine['run'] = (args, options) =>
      quarantine.run(args, { timeoutMs: writeTimeoutMs, ...options, env: { ...env, ...options?.env } })
    await quarantine.keepStaged()
    return await use({ ...quarantine, run })
  } finally {
    await quarantine.close()
  }
}

/**
 * Commits a worktree's changes, if there are any, and calls `use` with the commit. Its branch follows by `moveBranch`; the files stay
 * as they are. @throws Problem CONFLICT
 */
export async function withCommitted<T>(
  quarantine: Quarantine,
  place: Repository,
  title: string,
  use: (work: string, moveBranch: () => Promise<void>) => Promise<T>,
): Promise<T> {
  const index = await takeIndex(place, quarantine)
  try {
    const work = await commitChanges(quarantine, title)
    return await use(work, async () => {
      if (work !== quarantine.head) await index.install(work)
    })
  } finally {
    await index.release()
  }
}

/** Commits a worktree's changes. @returns the commit, or HEAD without changes */
async function commitChanges(quarantine: Quarantine, title: string): Promise<string> {
  const head = quarantine.head
  if (head === undefined) throw new Problem('CONFLICT', 'The worktree has no commit.')
  if ((await quarantine.run(['ls-files', '-z', '--unmerged'])).length > 0)
    throw new Problem('CONFLICT', "The card's worktree has conflicts of its own. Resolve them first.")
  const { tree, changed } = await snapshotOf(quarantine, everything)
  if (tree === (await treeOf(quarantine, head))) return head
  await requireNoFilters(quarantine, changed)
  return commit(quarantine, tree, [head], title)
}

export const treeOf = async (quarantine: Quarantine, revision: string): Promise<string> =>
  (await quarantine.run(['rev-parse', `${revision}^{tree}`])).toString().trim()

/** Makes a commit, on no branch yet. @returns its id */
export async function commit(
  quarantine: Quarantine,
  tree: string,
  parents: readonly string[],
  message: string,
  env?: Record<string, string>,
): Promise<string> {
  return (
    await quarantine.run(['commit-tree', tree, ...parents.flatMap(parent => ['-p', parent])], {
      input: `${message}\n`,
      env,
    })
  )
    .toString()
    .trim()
}
