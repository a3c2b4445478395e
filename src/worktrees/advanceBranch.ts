import { Problem } from '../contract/errors.ts'
import { requireNotInUse } from '../git/branchInUse.ts'
import { git, GitFailed, gitReason } from '../git/git.ts'
import { lockedBy, nextIndex, recoverIndex, takeIndex } from '../git/indexLock.ts'
import { kindOf } from '../git/kindOf.ts'
import { listWorkingTrees, readHead, type Repository } from '../git/workingTrees.ts'
import { worktreeOf } from './findWorktree.ts'
import type { Worktrees } from './worktrees.ts'

/**
 * Advances a branch to a new commit, and the files of the working tree on that branch.
 * @throws Problem WORKTREE_DIRTY, CONFLICT
 */
export async function advanceBranch(
  worktrees: Worktrees,
  repository: Repository,
  into: string,
  target: string,
  result: string,
): Promise<void> {
  const place = await findCheckout(repository, into)
  if (!place) return moveBranch(repository, into, target, result)
  const index = await takeIndex(place)
  const move = (from: string, to: string, name: string) =>
    worktrees.run('moveFiles', { worktree: place, move: { from, to, index: name, isTrial: false } }, index.write)
  try {
    await move(target, result, 'index').catch((error: unknown) => {
      throw couldNotFollow(error)
    })
    await index.announce(result)
    await moveBranch(place, into, target, result).catch(async (error: unknown) => {
      await move(result, target, nextIndex)
      throw error
    })
    await index.install()
  } finally {
    await index.release()
  }
}

async function moveBranch({ gitDir, commonDir }: Repository, branch: string, from: string, to: string): Promise<void> {
  const args = ['update-ref', '-m', 'merge: board', `refs/heads/${branch}`, to, from]
  const { exitCode, stderr } = await git(commonDir, args, { env: { GIT_DIR: gitDir } })
  if (exitCode === 0) return
  const lock = /Unable to create '(.+\.lock)': File exists/.exec(stderr)?.[1]
  if (lock !== undefined) throw new Problem('CONFLICT', lockedBy(lock))
  if (/ but expected /.test(stderr)) throw new Problem('CONFLICT', `${branch} has new commits. Try again.`)
  throw new GitFailed('failed', `git update-ref ended with ${exitCode}: ${stderr}`)
}

/** Fails if `advanceBranch` would fail, and changes nothing. */
export async function tryToAdvance(
  worktrees: Worktrees,
  repository: Repository,
  into: string,
  target: string,
  result: string,
): Promise<void> {
  const place = await findCheckout(repository, into)
  if (!place) return
  const move = { from: target, to: result, index: 'index', isTrial: true }
  await worktrees.run('moveFiles', { worktree: place, move }).catch((error: unknown) => {
    throw couldNotFollow(error)
  })
}

/** The working tree in which a branch is checked out, after a check that no Git command uses the branch. */
async function findCheckout(repository: Repository, branch: string): Promise<Repository | undefined> {
  await requireNotInUse(repository, branch)
  return recoverCheckout(repository, branch)
}

/** The working tree in which a branch is checked out. If a server was killed after it moved the branch, the index is installed. */
export async function recoverCheckout(repository: Repository, branch: string): Promise<Repository | undefined> {
  const place = await checkoutOf(repository, branch)
  if (place) await recoverIndex(place)
  return place
}

/** The working tree in which a branch is checked out. */
export async function checkoutOf(repository: Repository, branch: string): Promise<Repository | undefined> {
  const trees = await Promise.all((await listWorkingTrees(repository)).map(readHead))
  const listed = trees.filter(each => each.branch === branch)
  const kinds = await Promise.all(listed.map(({ topLevel }) => kindOf(topLevel)))
  const [found, other] = listed.filter((_, index) => kinds[index] !== 'nothing')
  if (!found) return undefined
  if (other)
    refuse(
      `${branch} is checked out in ${found.topLevel} and in ${other.topLevel}. Switch one of them to another branch first.`,
    )
  return (
    (await worktreeOf(repository, found.topLevel)) ??
    refuse(`${found.topLevel}, where ${branch} is checked out, is no longer a worktree of the repository.`)
  )
}

function couldNotFollow(error: unknown): unknown {
  if (!(error instanceof GitFailed) || error.reason !== 'failed') return error
  const reason = gitReason(error)
  return new Problem(
    /would be overwritten|not uptodate/.test(reason) ? 'WORKTREE_DIRTY' : 'CONFLICT',
    `The branch is checked out, and its files could not be updated: ${reason} Nothing was changed.`,
    { cause: error },
  )
}

function refuse(message: string): never {
  throw new Problem('CONFLICT', message)
}
