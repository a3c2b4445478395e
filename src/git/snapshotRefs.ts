import { stat } from 'node:fs/promises'
import { git, gitOutput } from './git.ts'

/** A ref outside of branches and pushes. Two boards on one repository share it only for the same files. */
const refOf = (cardId: number, snapshot: string) => `refs/board/reviews/${cardId}/${snapshot}`

/** Keeps a snapshot's objects in the repository, independent of the card's worktree and branch. @throws GitFailed */
export async function keepSnapshot(projectPath: string, cardId: number, snapshot: string): Promise<void> {
  await gitOutput(projectPath, ['update-ref', refOf(cardId, snapshot), snapshot])
}

/** Deletes a card's kept snapshots. Missing ones, or a missing repository, are no failure. @throws GitFailed */
export async function dropSnapshots(projectPath: string, cardId: number, snapshots: readonly string[]): Promise<void> {
  if (snapshots.length === 0 || (await stat(projectPath).catch(() => undefined)) === undefined) return
  const { exitCode } = await git(projectPath, ['rev-parse', '--git-dir'])
  if (exitCode !== 0) return
  for (const snapshot of snapshots) await gitOutput(projectPath, ['update-ref', '-d', refOf(cardId, snapshot)])
}
