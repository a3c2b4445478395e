import { tmpdir } from 'node:os'
import { Problem, invalid } from '../contract/errors.ts'
import { isTrackedChanged, kindOf } from '../git/changes.ts'
import { inCheckout } from '../git/checkout.ts'
import { commit, requireSynced, treeOf, withCommitted, withWriting, writeTimeoutMs } from './commitWork.ts'
import { requireNoOwnFilters } from '../git/filters.ts'
import { git, GitFailed, nulSeparated } from '../git/git.ts'
import { withRepositoryLock } from '../git/repositoryLock.ts'
import { openQuarantine, type Quarantine } from '../git/quarantine.ts'
import { currentBranch, findRepository, type Repository } from '../git/repository.ts'
import { syncBranch, syncWorktreesOn } from './syncBranch.ts'
import { listWorktrees } from './findWorktree.ts'
import type { Worktrees } from './worktrees.ts'

const maxNamed = 50

export interface MergeRequest {
  projectPath: string
  /**
   * The card's worktree, if it exists: its uncommitted changes are committed there and merged, too. Null: the branch
   * alone.
   */
  worktreePath: string | null
  branch: string | null
  /** The target branch; undefined: the current one of the project's folder. */
  into: string | undefined
  squash: boolean
  /** The commit that the work began at: with `squash` those before it stay as they are. */
  base: string | null
  /** The message of the commits. */
  title: string
  /** Only finds out whether it could be merged. */
  isTrial: boolean
}
/** `merged` is false when the branch was up to date. `commit` is the branch's commit now. */
export interface Merged {
  merged: boolean
  into: string
  commit: string
}

/**
 * Merges a card's work into a branch, atomically: by a merge commit, or with `squash` a single commit. The files of a
 * checked-out branch change, too. Hooks, merge drivers and the filters of changed files do not run, except the
 * account's own filters for a checked-out branch.
 * @throws Problem NOT_A_GIT_REPOSITORY; VALIDATION_FAILED for an unknown branch; MERGE_CONFLICT, its details name the
 *   files; WORKTREE_DIRTY when the checked-out branch has local changes; CONFLICT
 */
export async function mergeWork(worktrees: Worktrees, request: MergeRequest): Promise<Merged> {
  const repository = (await findRepository(request.projectPath)) ?? refuse('NOT_A_GIT_REPOSITORY')
  const into =
    request.into ??
    repository.branch ??
    (await currentBranch(request.projectPath)) ??
    refuse('CONFLICT', "The project's folder is on no branch. Say into which branch to merge.")
  const { worktreePath } = request
  await syncWorktreesOn(worktrees, repository.commonDir, into)
  if (worktreePath !== null) await requireSynced(worktrees, worktreePath)
  const merged = await withRepositoryLock(repository.commonDir, () =>
    mergeOnce(request, repository, into).catch(error => {
      throw mergeProblem(error)
    }),
  )
  // Agents with Git folders of their own see what the merge has moved.
  await syncWorktreesOn(worktrees, repository.commonDir, into)
  if (worktreePath !== null) await syncBranch(worktrees, worktreePath)
  return merged
}

async function mergeOnce(request: MergeRequest, repository: Repository, into: string): Promise<Merged> {
  const place = request.worktreePath === null ? undefined : await findRepository(request.worktreePath)
  return withWriting(request.projectPath, repository, place ?? repository, async quarantine => {
    const target = (await refOf(quarantine, into)) ?? unknownBranch()
    if (place && (place.branch ?? (await currentBranch(place.topLevel))) === into)
      throw new Problem('CONFLICT', 'The card works on that branch itself.')
    const mergeInto = async (work: string): Promise<Merged> => {
      const result = await combine(quarantine, target, work, request)
      if (result !== target) await (request.isTrial ? tryToAdvance : advance)(repository, into, target, result)
      return { merged: result !== target, into, commit: result }
    }
    if (place)
      return withCommitted(quarantine, place, request.title, async (work, moveBranch) => {
        const merged = await mergeInto(work)
        if (request.isTrial) return merged
        // The merge is done. If the worktree cannot move to its new commit, it stays as it was, and nothing is lost.
        await moveBranch().catch(() => {})
        return merged
      })
    return mergeInto(
      (await refOf(quarantine, request.branch)) ?? refuse('CONFLICT', 'The card has no branch that could be merged.'),
    )
  })
}

/** The commit of a local branch. */
export const refOf = async (quarantine: Quarantine, branch: string | null): Promise<string | undefined> =>
  (await quarantine.refs()).find(({ name }) => name === `refs/heads/${branch}`)?.id

/** Merges the work into the target; the target itself when it is up to date. */
async function combine(
  quarantine: Quarantine,
  target: string,
  work: string,
  { squash, base, title }: MergeRequest,
): Promise<string> {
  if (await isBefore(quarantine, work, target)) return target
  const tree = await mergeTrees(quarantine, target, work)
  if (squash)
    return tree === (await treeOf(quarantine, target))
      ? target
      : commit(quarantine, tree, await squashParents(quarantine, target, work, base), title)
  return commit(quarantine, tree, [target, work], `Merge: ${title}`)
}

/** Work that began at a fetched commit brings those before it, which must not become part of the one commit. */
async function squashParents(
  quarantine: Quarantine,
  target: string,
  work: string,
  base: string | null,
): Promise<string[]> {
  if (base === null || !(await isBefore(quarantine, base, work)) || (await isBefore(quarantine, base, target)))
    return [target]
  return (await isBefore(quarantine, target, base)) ? [base] : [target, base]
}

/** Whether a commit is the other or one before it. */
export const isBefore = (quarantine: Quarantine, one: string, other: string): Promise<boolean> =>
  quarantine.run(['merge-base', '--is-ancestor', one, other]).then(
    () => true,
    () => false,
  )

/** The tree of both commits together. @throws Problem MERGE_CONFLICT */
export async function mergeTrees(quarantine: Quarantine, target: string, work: string): Promise<string> {
  const output = await quarantine.run(
    ['merge-tree', '--write-tree', '-z', '--name-only', '--no-messages', target, work],
    { exitCodes: [0, 1] },
  )
  const [tree, ...files] = nulSeparated(output)
  if (files.length === 0) return tree!
  const named = files.slice(0, maxNamed)
  throw new Problem(
    'MERGE_CONFLICT',
    `The merge has conflicts in ${named.slice(0, 5).join(', ')}${files.length > 5 ? ` and ${files.length - 5} more` : ''}; nothing was changed.`,
    { details: named.map(path => ({ path, message: 'has a conflict' })) },
  )
}

/** Advances the branch to the new commit, and the files where it is checked out. */
export async function advance(repository: Repository, into: string, target: string, result: string): Promise<void> {
  const checkedOut = await checkoutOf(repository, into)
  if (checkedOut === undefined) {
    const { exitCode } = await git(repository.topLevel, [
      'update-ref',
      '-m',
      'merge: board',
      `refs/heads/${into}`,
      result,
      target,
    ])
    if (exitCode !== 0) throw new Problem('CONFLICT', 'The branch moved meanwhile. Try again.')
    return
  }
  await requireUnchanged(checkedOut, target, result)
  const place = (await findRepository(checkedOut)) ?? refuse('CONFLICT', 'The branch moved meanwhile. Try again.')
  await inCheckout(place, async run => {
    const step = (from: string, to: string) => run(['read-tree', '-m', '-u', from, to], { timeoutMs: writeTimeoutMs })
    await step(target, result).catch((error: unknown) => {
      throw couldNotFollow(error)
    })
    const { exitCode } = await git(place.topLevel, [
      'update-ref',
      '-m',
      'merge: board',
      `refs/heads/${into}`,
      result,
      target,
    ])
    if (exitCode === 0) return
    await step(result, target)
    throw new Problem('CONFLICT', 'The branch moved meanwhile. Try again.')
  })
}

/** Fails where `advance` would, and changes nothing. */
async function tryToAdvance(repository: Repository, into: string, target: string, result: string): Promise<void> {
  const checkedOut = await checkoutOf(repository, into)
  if (checkedOut === undefined) return
  await requireUnchanged(checkedOut, target, result)
  const place = (await findRepository(checkedOut)) ?? refuse('CONFLICT', 'The branch moved meanwhile. Try again.')
  await inCheckout(place, run =>
    run(['read-tree', '-m', '-u', '-n', target, result], { timeoutMs: writeTimeoutMs }).catch((error: unknown) => {
      throw couldNotFollow(error)
    }),
  )
}

/** The folder in which a branch is checked out. */
async function checkoutOf(repository: Repository, branch: string): Promise<string | undefined> {
  const found = (await listWorktrees(repository.topLevel)).find(each => each.branch === branch)
  return found && (await kindOf(found.path)) !== 'nothing' ? found.path : undefined
}

function couldNotFollow(error: unknown): unknown {
  if (!(error instanceof GitFailed) || error.reason !== 'failed') return error
  return new Problem(
    /would be overwritten|not uptodate/.test(error.message) ? 'WORKTREE_DIRTY' : 'CONFLICT',
    'The branch is checked out, and its files could not be brought up to the merge. Nothing was changed.',
    { cause: error },
  )
}

/** Refuses changed files with a filter of the repository's own: they cannot be updated. */
async function requireUnchanged(topLevel: string, target: string, result: string): Promise<void> {
  const quarantine = await openQuarantine(topLevel, tmpdir())
  try {
    if (await isTrackedChanged(quarantine))
      throw new Problem(
        'WORKTREE_DIRTY',
        'The branch is checked out with local changes. Commit or discard them first; nothing was changed.',
      )
    const changed = await quarantine.run(['diff-tree', '-r', '-z', '--name-only', '--no-renames', target, result])
    await requireNoOwnFilters(quarantine, nulSeparated(changed))
  } finally {
    await quarantine.close()
  }
}

export function mergeProblem(error: unknown): unknown {
  if (!(error instanceof GitFailed)) return error
  if (/usage: git merge-tree|unknown option/.test(error.message))
    return new Problem('CONFLICT', 'Merging needs Git 2.38 or later on the server.', { cause: error })
  if (/unrelated histories/.test(error.message))
    return new Problem('CONFLICT', 'The branches have no commit in common.', { cause: error })
  return new Problem(
    'CONFLICT',
    error.reason === 'timeout' ? 'Git took too long to merge.' : 'Git could not merge; nothing was changed.',
    { cause: error },
  )
}

function refuse(code: 'NOT_A_GIT_REPOSITORY' | 'CONFLICT', message?: string): never {
  throw new Problem(code, message)
}
function unknownBranch(): never {
  throw invalid('into', 'must be a local branch of the repository.')
}
