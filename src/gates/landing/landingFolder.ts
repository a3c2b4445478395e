import { join } from 'node:path'
import { copiedOf, requireSubfolder, type Workplace } from '../../cardWork/worktrees.ts'
import { findWorktreeSettings } from '../../cardWork/worktreeSettings.ts'
import type { ServerConfig } from '../../config/server.ts'
import { Problem, refuse } from '../../contract/errors.ts'
import { diffFiles } from '../../contract/forges/diffFiles.ts'
import type { EffectiveWorktree } from '../../contract/projects/worktree.ts'
import { findProjectRepository, readCheckoutState } from '../../git/checkoutState.ts'
import { branchTip } from '../../git/commits.ts'
import { git, inGitDir } from '../../git/git.ts'
import type { Database } from '../../store/engine/database.ts'
import type { ProjectRow } from '../../store/projects/projects.ts'
import { dropWorktree, makeWorktree } from '../../worktrees/cardWorktrees.ts'
import { compareWorktree } from '../../worktrees/compareWorktree.ts'
import { syncedWorktree } from '../../worktrees/findWorktree.ts'
import { landingPath } from '../../worktrees/worktreePlaces.ts'
import type { Worktrees } from '../../worktrees/worktrees.ts'

export interface FolderDependencies {
  db: Database
  worktrees: Worktrees
  config: Pick<ServerConfig, 'dataDir' | 'worktreeRoot' | 'earlierWorktreeRoots'>
}
/** A worktree with the files of a merge, and how the project prepares its worktrees. */
export interface LandingFolder {
  place: Workplace
  settings: EffectiveWorktree
}

/** The branch of the folder, which exists only while the gates run. */
const branchOf = (landingId: number): string => `board-landing-${landingId}`

/**
 * Creates a worktree with the files of a merged commit. It is new for each merge, because the commands of one card could change ignored files
 * that those of the next one use.
 * @throws Problem NOT_A_GIT_REPOSITORY, CONFLICT, DISK_FULL
 */
export async function makeLandingFolder(
  dependencies: FolderDependencies,
  project: ProjectRow,
  landingId: number,
  commit: string,
): Promise<LandingFolder> {
  const { db, worktrees, config } = dependencies
  // A branch of that name would have other files.
  await removeLandingFolder(dependencies, project, landingId)
  const checkout = (await readCheckoutState(project)) ?? refuse('NOT_A_GIT_REPOSITORY')
  const { effective } = await findWorktreeSettings(worktrees, db, project)
  const plan = { path: landingPath(config, project.id, landingId), branch: branchOf(landingId), baseCommit: commit }
  const copied = copiedOf({ copiedFiles: JSON.stringify(effective.copiedFiles) }, config)
  await makeWorktree(worktrees, project.path, checkout, plan, copied)
  const cwd = await requireSubfolder(join(plan.path, checkout.subfolder), effective.subfolder)
  const place = { cwd, worktreePath: plan.path, isManaged: true, branch: plan.branch, baseCommit: commit }
  return { place, settings: effective }
}

/** Removes the worktree of a merge and its branch. A missing one is not an error. @throws Problem CONFLICT */
export async function removeLandingFolder(
  { worktrees, config }: FolderDependencies,
  project: ProjectRow,
  landingId: number,
): Promise<void> {
  await dropWorktree(worktrees, project, landingPath(config, project.id, landingId), null)
  const repository = await findProjectRepository(project)
  if (!repository) return
  const { commonDir } = repository
  const branch = branchOf(landingId)
  if ((await branchTip(commonDir, branch)) === undefined) return
  const { exitCode } = await git(commonDir, ['update-ref', '-d', `refs/heads/${branch}`], { env: inGitDir(commonDir) })
  if (exitCode !== 0) throw new Problem('CONFLICT', `The branch ${branch} could not be deleted.`)
}

/** The names of the files that differ from the merged commit. Undefined if there are none. */
export async function listChanged(
  { worktrees }: FolderDependencies,
  project: ProjectRow,
  { worktreePath, baseCommit }: Workplace,
): Promise<string[] | undefined> {
  const repository = await findProjectRepository(project)
  const found = repository && (await syncedWorktree(worktrees, repository, worktreePath))
  if (!found) throw new Problem('CONFLICT', 'The folder of the merge is no longer a worktree.')
  const { work } = await compareWorktree(worktrees, found, baseCommit)
  return work.stats.filesChanged === 0 ? undefined : diffFiles(work.diff).map(({ path }) => path)
}
