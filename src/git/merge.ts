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
import { snapshotOf } from './snapshot.ts'
import { listWorktrees } from './worktrees.ts'

const timeoutMs = 5 * 60_000
const maxNamed = 50
const everything = { maxFiles: Infinity, maxFileBytes: Infinity, maxBytes: Infinity }

export interface MergeRequest {
  projectPath: string
  /** The card's worktree where it stands: what it holds is merged, also what is not committed yet, which becomes a commit there. Null: the branch alone. */
  worktreePath: string | null
  branch: string | null
  /** The local branch that gets the work; undefined: the one that the project's folder is on. */
  into: string | undefined
  squash: boolean
  /** What the commits are called. */
  title: string
}
/** `merged` is false when the branch has it all already. `commit` is what the branch is on now. */
export interface Merged {
  merged: boolean
  into: string
  commit: string
}

/**
 * Merges a card's work into a branch: a merge commit, or with `squash` one commit of all. Where the branch is checked out,
 * its files change too. It happens whole or not at all. Hooks, merge drivers and the filters of changed files do not run,
 * save those of the account's own configuration where a checked-out branch gets its new files.
 * @throws Problem NOT_A_GIT_REPOSITORY; VALIDATION_FAILED for an unknown branch; MERGE_CONFLICT, its details name the files;
 * WORKTREE_DIRTY when the checked-out branch has local changes; CONFLICT
 */
export async function mergeWork(request: MergeRequest): Promise<Merged> {
  const repository = (await findRepository(request.projectPath)) ?? refuse('NOT_A_GIT_REPOSITORY')
  const into =
    request.into ??
    repository.branch ??
    (await currentBranch(request.projectPath)) ??
    refuse('CONFLICT', "The project's folder is on no branch. Say into which branch to merge.")
  return withRepositoryLock(repository.commonDir, () =>
    mergeOnce(request, repository, into).catch(error => {
      throw toProblem(error)
    }),
  )
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
    const work = place
      ? await commitWork(writing, request.title)
      : ((await refOf(quarantine, request.branch)) ??
        refuse('CONFLICT', 'The card has no branch that could be merged.'))
    const result = await combine(writing, target, work, request)
    if (result !== target) await advance(repository, into, target, result)
    // The branch has the work by now. A worktree that cannot take its commit any more stays as it was, which loses nothing.
    if (place && work !== quarantine.head) await index!.install(work).catch(() => {})
    return { merged: result !== target, into, commit: result }
  } finally {
    await index?.release()
    await quarantine.close()
  }
}

const refOf = async (quarantine: Quarantine, branch: string | null): Promise<string | undefined> =>
  (await quarantine.refs()).find(({ name }) => name === `refs/heads/${branch}`)?.id

/** The commit of all that a worktree holds: the one that it is on, or a new one on top with what is not committed. */
async function commitWork(quarantine: Quarantine, title: string): Promise<string> {
  const head = quarantine.head ?? refuse('CONFLICT', 'The worktree has no commit.')
  if ((await quarantine.run(['ls-files', '-z', '--unmerged'])).length > 0)
    throw new Problem('CONFLICT', "The card's worktree has conflicts of its own. Resolve them first.")
  const { tree, changed } = await snapshotOf(quarantine, everything)
  if (tree === (await treeOf(quarantine, head))) return head
  await requireNoFilters(quarantine, changed)
  return commit(quarantine, tree, [head], title)
}

/** The commit that holds the target and the work; the target itself when it has all of the work. */
async function combine(
  quarantine: Quarantine,
  target: string,
  work: string,
  { squash, title }: MergeRequest,
): Promise<string> {
  const isIn = await quarantine.run(['merge-base', '--is-ancestor', work, target]).then(
    () => true,
    () => false,
  )
  if (isIn) return target
  const tree = await mergeTrees(quarantine, target, work)
  if (squash) return tree === (await treeOf(quarantine, target)) ? target : commit(quarantine, tree, [target], title)
  return commit(quarantine, tree, [target, work], `Merge: ${title}`)
}

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

/** Moves the branch on to the new commit, and the files with it where it is checked out. */
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

/** Files that a filter of the repository's own would have to make cannot be brought up to the merge. */
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
