import { tmpdir } from 'node:os'
import { Problem } from '../contract/errors.ts'
import { configurationOf } from '../git/configuration.ts'
import { repositoryFilters } from '../git/filters.ts'
import { git, GitFailed, gitReason } from '../git/git.ts'
import { committerOf } from '../git/identity.ts'
import { takeIndex } from '../git/indexLock.ts'
import { readHead, type Repository, type WorkingTree } from '../git/workingTrees.ts'
import { withRepositoryLock } from '../git/repositoryLock.ts'
import { withObjects, type ObjectsRun } from '../git/withObjects.ts'
import { receiveObjects } from './receiveObjects.ts'
import { syncBranch } from './syncBranch.ts'
import type { Worktrees } from './worktrees.ts'

/** The program that signs can ask for a passphrase. */
const signTimeoutMs = 60_000

/** A commit of the files of a worktree. */
export interface WorkCommit {
  title: string
  /** Whether the commit must be complete. If so, it fails if a nested repository has work that the worktree does not record. */
  isWhole: boolean
}

/**
 * Commits the uncommitted changes of a card's worktree to its branch, and takes over the commits of an agent in a sandbox.
 * @returns the branch's commit
 * @throws Problem CONFLICT if the worktree has conflicts, or Git is busy there or fails
 */
export async function commitWorktree(worktrees: Worktrees, place: Repository, work: WorkCommit): Promise<string> {
  await requireSynced(worktrees, place)
  const committer = await committerOf(place.commonDir)
  const commit = await withRepositoryLock(place.commonDir, async () => {
    // `requireSynced` can have moved the branch.
    const moved = await readHead(place)
    return withObjects(moved, committer, run =>
      withCommitted(worktrees, run, moved, work, async (made, moveBranch) => {
        await moveBranch()
        return made
      }),
    )
  }).catch((error: unknown) => {
    if (!(error instanceof GitFailed)) throw error
    throw new Problem('CONFLICT', "Git could not commit the changes in the card's worktree.", { cause: error })
  })
  await syncBranch(worktrees, place)
  return commit
}

/** Takes over the commits in an agent's Git folder. @throws Problem CONFLICT */
export async function requireSynced(worktrees: Worktrees, worktree: WorkingTree): Promise<void> {
  const { state, reason } = await syncBranch(worktrees, worktree)
  if (state === 'refused')
    throw new Problem('CONFLICT', `The commits of the card's agent cannot be accepted. ${reason}`)
}

/**
 * Commits a worktree's changes, if there are any, and calls `use` with the commit. `moveBranch` moves the branch to it. The files are
 * unchanged.
 * @throws Problem CONFLICT; GitFailed
 */
export async function withCommitted<T>(
  worktrees: Worktrees,
  run: ObjectsRun,
  place: Repository,
  { title, isWhole }: WorkCommit,
  use: (work: string, moveBranch: () => Promise<void>) => Promise<T>,
): Promise<T> {
  const { head, commonDir, gitDir } = place
  if (head === undefined) throw new Problem('CONFLICT', 'The worktree has no commits.')
  const index = await takeIndex(place)
  const objects = receiveObjects(commonDir, tmpdir(), head)
  try {
    const rules = { filters: repositoryFilters(await configurationOf(place)), requiresWhole: isWhole }
    const tree = await worktrees.run('snapshotAll', { worktree: place, rules }, (bytes, part) =>
      part === 'index' ? index.write(bytes) : objects.write(bytes, part),
    )
    if (tree !== null) await objects.accept(tree, 'tree')
    const work = tree === null ? head : await commit(run, tree, [head], title)
    return await use(work, async () => {
      if (work === head) return
      await index.announce(work)
      const args = ['update-ref', '-m', 'commit: board', 'HEAD', work, head]
      const { exitCode, stderr } = await git(commonDir, args, { env: { GIT_DIR: gitDir } })
      if (exitCode !== 0) throw new GitFailed('failed', `git update-ref ended with ${exitCode}: ${stderr}`)
      await index.install()
      await index.release()
    })
  } finally {
    await objects.close()
    await index.release()
  }
}

export const treeOf = async (run: ObjectsRun, revision: string): Promise<string> =>
  (await run(['rev-parse', `${revision}^{tree}`])).toString().trim()

/**
 * Creates a commit that is on no branch yet, with a signature if the configuration signs commits.
 * @returns its name
 * @throws Problem CONFLICT if it cannot be signed; GitFailed
 */
export async function commit(
  run: ObjectsRun,
  tree: string,
  parents: readonly string[],
  message: string,
  env?: Record<string, string>,
): Promise<string> {
  const { signing } = run
  const args = ['commit-tree', ...(signing ? ['--gpg-sign'] : []), tree, ...parents.flatMap(parent => ['-p', parent])]
  const options = { input: `${message}\n`, env, ...(signing && { timeoutMs: signTimeoutMs }) }
  const output = await run([...(signing ?? []), ...args], options).catch((error: unknown) => {
    throw signing && error instanceof GitFailed ? signingProblem(error) : error
  })
  return output.toString().trim()
}

const signingProblem = (cause: GitFailed): Problem =>
  new Problem(
    'CONFLICT',
    `The commit could not be signed, which commit.gpgSign of the Git configuration requires. Make the key usable without a terminal, for example with ssh-agent or gpg-agent, and try again. Git reports: ${gitReason(cause)}`,
    { cause },
  )
