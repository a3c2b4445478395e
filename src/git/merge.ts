import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Problem, invalid } from '../contract/errors.ts'
import { isTrackedChanged, kindOf } from './changes.ts'
import { inCheckout } from './checkout.ts'
import { requireNoFilters, requireNoOwnFilters } from './filters.ts'
import { git, GitFailed, nulSeparated } from './git.ts'
import { identityOf } from './identity.ts'
import { takeIndex, type TakenIndex } from './indexLock.ts'
import { withRepositoryLock } from './repositoryLock.ts'
import { openQuarantine, type Quarantine } from './quarantine.ts'
import { currentBranch, findRepository, type Repository } from './repository.ts'
import { syncBranch, syncWorktreesOn, type BranchSync } from './syncBranch.ts'
import { snapshotOf } from './snapshot.ts'
import { listWorktrees } from './worktrees.ts'

const timeoutMs = 5 * 60_000
const maxNamed = 50
const everything = { maxFiles: Infinity, maxFileBytes: Infinity, maxBytes: Infinity }

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
export async function mergeWork(request: MergeRequest): Promise<Merged> {
  const repository = (await findRepository(request.projectPath)) ?? refuse('NOT_A_GIT_REPOSITORY')
  const into =
    request.into ??
    repository.branch ??
    (await currentBranch(request.projectPath)) ??
    refuse('CONFLICT', "The project's folder is on no branch. Say into which branch to merge.")
  const { state, reason } = await syncAgents(request, repository, into)
  if (state === 'refused')
    throw new Problem('CONFLICT', `What the card's agent has committed cannot be taken over. ${reason}`)
  const merged = await withRepositoryLock(repository.commonDir, () =>
    mergeOnce(request, repository, into).catch(error => {
      throw toProblem(error)
    }),
  )
  await syncAgents(request, repository, into)
  return merged
}

/** Agents that have Git folders of their own may have moved the branches, or are told that the merge has. */
async function syncAgents(
  { worktreePath }: MergeRequest,
  { commonDir }: Repository,
  into: string,
): Promise<BranchSync> {
  await syncWorktreesOn(commonDir, into)
  return worktreePath === null ? { state: 'none' } : syncBranch(worktreePath)
}

async function mergeOnce(request: MergeRequest, repository: Repository, into: string): Promise<Merged> {
  const place = request.worktreePath === null ? undefined : await findRepository(request.worktreePath)
  const quarantine = await openQuarantine((place ?? repository).topLevel, tmpdir(), place ?? repository)
  const env = {
    GIT_OBJECT_DIRECTORY: join(repository.commonDir, 'objects'),
    ...(await identityOf(request.projectPath)),
  }
  const writing: Quarantine = {
    ...quarantine,
    run: (args, options) => quarantine.run(args, { timeoutMs, ...options, env: { ...env, ...options?.env } }),
  }
  let index: TakenIndex | undefined
  try {
    const target = (await refOf(quarantine, into)) ?? unknownBranch()
    if (place && (place.branch ?? (await currentBranch(place.topLevel))) === into)
      throw new Problem('CONFLICT', 'The card works on that branch itself.')
    if (place) index = await takeIndex(place, quarantine)
    await quarantine.keepStaged()
    const work = place
      ? await commitWork(writing, request.title)
      : ((await refOf(quarantine, request.branch)) ??
        refuse('CONFLICT', 'The card has no branch that could be merged.'))
    const result = await combine(writing, target, work, request)
    if (result !== target) await advance(repository, into, target, result)
    // The merge is done. If the worktree cannot move to its new commit, it stays as it was, and nothing is lost.
    if (place && work !== quarantine.head) await index!.install(work).catch(() => {})
    return { merged: result !== target, into, commit: result }
  } finally {
    await index?.release()
    await quarantine.close()
  }
}

const refOf = async (quarantine: Quarantine, branch: string | null): Promise<string | undefined> =>
  (await quarantine.refs()).find(({ name }) => name === `refs/heads/${branch}`)?.id

/** Commits a worktree's changes. @returns the commit, or HEAD without changes */
async function commitWork(quarantine: Quarantine, title: string): Promise<string> {
  const head = quarantine.head ?? refuse('CONFLICT', 'The worktree has no commit.')
  if ((await quarantine.run(['ls-files', '-z', '--unmerged'])).length > 0)
    throw new Problem('CONFLICT', "The card's worktree has conflicts of its own. Resolve them first.")
  const { tree, changed } = await snapshotOf(quarantine, everything)
  if (tree === (await treeOf(quarantine, head))) return head
  await requireNoFilters(quarantine, changed)
  return commit(quarantine, tree, [head], title)
}

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

const isBefore = (quarantine: Quarantine, one: string, other: string): Promise<boolean> =>
  quarantine.run(['merge-base', '--is-ancestor', one, other]).then(
    () => true,
    () => false,
  )

async function mergeTrees(quarantine: Quarantine, target: string, work: string): Promise<string> {
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
async function advance(repository: Repository, into: string, target: string, result: string): Promise<void> {
  const checkedOut = (await listWorktrees(repository.topLevel)).find(({ branch }) => branch === into)
  if (!checkedOut || (await kindOf(checkedOut.path)) === 'nothing') {
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
  await requireUnchanged(checkedOut.path, target, result)
  const place = (await findRepository(checkedOut.path)) ?? refuse('CONFLICT', 'The branch moved meanwhile. Try again.')
  await inCheckout(place, async run => {
    const step = (from: string, to: string) => run(['read-tree', '-m', '-u', from, to], { timeoutMs })
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

const treeOf = async (quarantine: Quarantine, revision: string): Promise<string> =>
  (await quarantine.run(['rev-parse', `${revision}^{tree}`])).toString().trim()

async function commit(
  quarantine: Quarantine,
  tree: string,
  parents: readonly string[],
  message: string,
): Promise<string> {
  return (
    await quarantine.run(['commit-tree', tree, ...parents.flatMap(parent => ['-p', parent])], { input: `${message}\n` })
  )
    .toString()
    .trim()
}

function toProblem(error: unknown): unknown {
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
