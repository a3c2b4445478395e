import { gitOutput, inGitDir } from './git.ts'
import { findRepository, requireGitRepository } from './repository.ts'
import type { Repository } from './workingTrees.ts'

/** A ref that is not a branch, so that it is not pushed. Two boards on one repository share a ref only for identical files. */
const refOf = (cardId: number, snapshot: string) => `refs/board/reviews/${cardId}/${snapshot}`

/**
 * Keeps a snapshot's objects in the repository, independent of the card's worktree and branch.
 * @throws GitFailed; Problem NOT_A_GIT_REPOSITORY, CONFLICT
 */
export async function keepSnapshot(projectPath: string, cardId: number, snapshot: string): Promise<void> {
  await updateRef(await requireGitRepository(projectPath), [refOf(cardId, snapshot), snapshot])
}

/** Deletes a card's snapshots. Ignores missing snapshots and a missing repository. @throws GitFailed; Problem CONFLICT */
export async function dropSnapshots(projectPath: string, cardId: number, snapshots: readonly string[]): Promise<void> {
  const repository = snapshots.length === 0 ? undefined : await findRepository(projectPath)
  if (!repository) return
  for (const snapshot of snapshots) await updateRef(repository, ['-d', refOf(cardId, snapshot)])
}

const updateRef = ({ commonDir }: Repository, args: readonly string[]): Promise<Buffer> =>
  gitOutput(commonDir, ['update-ref', ...args], { env: inGitDir(commonDir) })
