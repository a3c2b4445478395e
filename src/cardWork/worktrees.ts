import { mkdir, realpath, stat } from 'node:fs/promises'
import { isAbsolute, join } from 'node:path'
import { isWithin } from '../config/folders.ts'
import { boardFolders, isBelowRoot, newWorktreePath, type WorktreePlaces } from '../worktrees/worktreePlaces.ts'
import { errors, Problem } from '../contract/errors.ts'
import { home } from '../contract/forges/repositories.ts'
import { makeWorktree } from '../worktrees/cardWorktrees.ts'
import { planWorktree, type WorktreePlan } from '../worktrees/planWorktree.ts'
import type { Copied } from '../worktrees/copyIgnoredFiles.ts'
import { findProjectRepository, readCheckoutState, type CheckoutState } from '../git/checkoutState.ts'
import { unfinishedPath } from '../git/addWorktree.ts'
import { mergeBase } from '../git/commits.ts'
import { isRecorded, recordFolders, type ProjectFolder } from '../git/folderRecord.ts'
import { kindOf } from '../git/kindOf.ts'
import { createSubfolder } from '../worktrees/createSubfolder.ts'
import { savePatch } from '../worktrees/savePatch.ts'
import type { RemoteReach } from '../git/remoteGit.ts'
import type { Repository } from '../git/workingTrees.ts'
import { isClean, worktreeOf } from '../worktrees/findWorktree.ts'
import type { CardChange, CardRow } from '../store/cards/cards.ts'
import type { Database, Transaction } from '../store/engine/database.ts'
import { storedMerges } from '../store/forges/merges.ts'
import { addFolderRecords, repositoriesOf, type ProjectRow } from '../store/projects/projects.ts'
import { findCardBase } from './worktreeBase.ts'
import { changeCard, changeCardIfThere } from '../domain/cards/cardChanges.ts'
import { find, type CardRef } from '../domain/cards/cards.ts'
import type { Worktrees } from '../worktrees/worktrees.ts'

/**
 * The folder of a card's agent. `branch` and `baseCommit` are null outside of Git, and `worktreePath` is null if the project's
 * own folder is used.
 */
export interface Workplace {
  cwd: string
  worktreePath: string | null
  /** Whether the board created the worktree. False if a user created it, or if there is none. */
  isManaged: boolean
  branch: string | null
  baseCommit: string | null
  /** The remark for users about how the worktree was created. */
  remark?: string
  /** The project's other repositories. */
  repositories?: readonly WorkplaceRepository[]
}
/** Another repository of a project for an agent. `worktreePath` is null if it can only be read. */
export interface WorkplaceRepository {
  name: string
  /** The repository's own folder. */
  path: string
  worktreePath: string | null
  branch: string | null
}
type Project = Pick<ProjectRow, 'id' | 'path' | 'folderRecords' | 'copiedFiles' | 'repositories'>

/**
 * Ensures that a card has a folder to work in, and stores it on the card. If a worktree is attached, it is used. Otherwise, if the card
 * works in a worktree, a managed one is created at the first start, and restored from its branch if its folder was deleted. Otherwise, the
 * project's folder is used. The plan is stored before it is carried out, so that an interrupted start can be resumed. At most one call at a
 * time per card.
 * @throws Problem CONFLICT (no commit yet, the branch is in use, the attached worktree was deleted), DISK_FULL
 */
export async function ensureWorktree(
  worktrees: Worktrees,
  db: Database,
  card: CardRow,
  project: Project,
  places: WorktreePlaces,
  reach: RemoteReach,
): Promise<Workplace> {
  await recordMissing(db, project)
  const checkout = await readCheckoutState(project)
  requireFiles(card, checkout)
  if (!checkout || card.useWorktree === 0)
    return saveWorkplace(db, card, {
      cwd: project.path,
      worktreePath: null,
      isManaged: false,
      branch: checkout?.branch ?? null,
      baseCommit: card.baseCommit ?? checkout?.commit ?? null,
    })
  if (card.worktreePath !== null && card.worktreeManaged === 0)
    return saveWorkplace(db, card, await attachedPlace(card, project, checkout))
  const path = await folderFor(card, project, places)
  const { plan, remark } = await planFor(worktrees, db, card, project, checkout, path, reach)
  await keepPlan(db, card, plan)
  const made = await makeWorktree(
    worktrees,
    project.path,
    checkout,
    plan,
    copiedOf(project, places),
    card.worktreeManaged === 1 ? card.worktreePath : null,
  )
  if (made.baseCommit !== plan.baseCommit) await keepPlan(db, card, made)
  const cwd = join(path, checkout.subfolder)
  if ((await kindOf(cwd)) === 'nothing') await createSubfolder(worktrees, made.path, checkout.subfolder)
  const { branch, baseCommit } = made
  return { cwd, worktreePath: path, isManaged: true, branch, baseCommit, ...(remark && { remark }) }
}

/** The ignored files that a project copies into worktrees of its repositories. */
export const copiedOf = ({ copiedFiles }: Pick<Project, 'copiedFiles'>, places: WorktreePlaces): Copied => ({
  patterns: JSON.parse(copiedFiles) as string[],
  hidden: boardFolders(places),
})

/** Records the folders of a project that was imported or restored, or whose folders could not be read when it was created. */
async function recordMissing(db: Database, project: Project): Promise<void> {
  const paths = [project.path, ...repositoriesOf(project).map(({ path }) => path)]
  const missing = paths.filter(path => !isRecorded({ ...project, path }))
  if (missing.length === 0) return
  const folders = await recordFolders(missing)
  await db.transaction(tx => addFolderRecords(tx, project.id, folders))
}

/** Plans a card's worktree. A worktree that was planned before keeps its branch and base. The base of a new worktree is fetched. */
async function planFor(
  worktrees: Worktrees,
  db: Database,
  card: CardRow,
  project: Project,
  checkout: CheckoutState,
  path: string,
  reach: RemoteReach,
): Promise<{ plan: WorktreePlan; remark?: string }> {
  if (card.worktreeManaged === 1 && card.gitBranch !== null)
    return { plan: { path, branch: card.gitBranch, baseCommit: card.baseCommit ?? checkout.commit ?? '' } }
  const { commit, remark } = await findCardBase({ worktrees, db, checkout, reach, repository: home }, card)
  const others = repositoriesOf(project).map(each => each.path)
  const plan = await planWorktree({ ...checkout, commit }, path, card, others)
  return { plan, remark }
}

/**
 * The current folder of a card's work. Creates no worktree.
 * @throws Problem CONFLICT if its agent has not started yet, or the attached worktree was deleted
 */
export async function findWorkplace(card: CardRow, project: ProjectFolder): Promise<Workplace> {
  const { useWorktree, worktreePath, worktreeManaged, baseCommit, gitBranch } = card
  const checkout = await readCheckoutState(project)
  requireFiles(card, checkout)
  if (!checkout || useWorktree === 0)
    return { cwd: project.path, worktreePath: null, isManaged: false, branch: checkout?.branch ?? null, baseCommit }
  if (worktreePath !== null && worktreeManaged === 0) return attachedPlace(card, project, checkout)
  if (worktreePath === null || (await kindOf(worktreePath)) !== 'folder')
    throw new Problem('CONFLICT', 'The card has no worktree yet. It gets one when its agent starts.')
  const cwd = join(worktreePath, checkout.subfolder)
  return { cwd, worktreePath, isManaged: true, branch: gitBranch, baseCommit }
}

/** @throws Problem CONFLICT if the card works in the folder of a bare repository */
function requireFiles({ id, useWorktree }: CardRow, checkout: CheckoutState | undefined): void {
  if (checkout?.repository.isBare && useWorktree === 0)
    throw new Problem(
      'CONFLICT',
      `The project's repository is bare, so its folder has no files to work in. Let the card use a worktree: board cards edit ${id} --worktree`,
    )
}

/** A worktree stays in the root where it was created. If its folder was deleted, it is restored in the root for new ones. */
async function folderFor({ id, worktreePath, worktreeManaged }: CardRow, project: Project, places: WorktreePlaces) {
  if (worktreeManaged === 1 && worktreePath !== null && isBelowRoot(places, worktreePath))
    for (const left of [worktreePath, unfinishedPath(worktreePath)])
      if ((await kindOf(left)) !== 'nothing') return worktreePath
  return newWorktreePath(places, project.id, id)
}

async function attachedPlace(card: CardRow, project: ProjectFolder, checkout: CheckoutState): Promise<Workplace> {
  const worktree = await requireWorktree(card.worktreePath!, project).catch(error => {
    throw new Problem('CONFLICT', 'The attached worktree no longer exists. Detach it, or attach another one.', {
      cause: error,
    })
  })
  const path = worktree.topLevel
  const baseCommit = card.baseCommit ?? (await findForkPoint(worktree, checkout))
  const cwd = join(path, checkout.subfolder)
  return { cwd, worktreePath: path, isManaged: false, branch: worktree.branch ?? null, baseCommit }
}

/**
 * A folder below the working folder of a card. Links that an agent has put there must not lead elsewhere.
 * @throws Problem CONFLICT
 */
export async function requireSubfolder(cwd: string, subfolder: string): Promise<string> {
  if (subfolder === '') return cwd
  const folder = join(cwd, subfolder)
  const [top, real] = await Promise.all([realpath(cwd), realpath(folder).catch(() => undefined)])
  const isThere = real !== undefined && isWithin(top, real) && (await stat(real)).isDirectory()
  if (!isThere)
    throw new Problem('CONFLICT', `The project's agents work in its subfolder ${subfolder}, which does not exist.`)
  return folder
}

/** The base commit of an attached worktree: its merge base with the project folder's commit. */
export async function findForkPoint(
  { head, commonDir }: Repository,
  { commit }: CheckoutState,
): Promise<string | null> {
  return head === undefined || commit === null ? (head ?? null) : ((await mergeBase(commonDir, head, commit)) ?? head)
}

async function saveWorkplace(db: Database, card: CardRow, place: Workplace): Promise<Workplace> {
  await saveCardChange(db, card, {
    baseCommit: place.baseCommit,
    ...(place.worktreePath !== null && { gitBranch: place.branch }),
  })
  return place
}

const keepPlan = (db: Database, card: CardRow, { path, branch, baseCommit }: WorktreePlan) =>
  saveCardChange(db, card, { worktreePath: path, worktreeManaged: 1, gitBranch: branch, baseCommit })

/** Stores the changes of a card that still exists. */
export async function saveCardChange(db: Database, card: CardRow, change: CardChange): Promise<void> {
  const isChanged = Object.entries(change).some(([field, value]) => card[field as keyof CardRow] !== value)
  if (isChanged) await db.transaction(tx => changeCardIfThere(tx, card, change))
}

/**
 * Ensures that deleting a card loses no work: without `force`, a worktree with uncommitted changes or its own commits is refused. With
 * `force`, they are saved as a patch in the data folder first.
 * @throws Problem WORKTREE_DIRTY
 */
export async function requireNothingLost(
  worktrees: Worktrees,
  project: ProjectFolder,
  card: Pick<CardRow, 'id' | 'worktreePath' | 'gitBranch'> & Partial<Pick<CardRow, 'merges'>>,
  force: boolean,
  dataDir: string,
  repository?: string,
): Promise<void> {
  const path = card.worktreePath
  const merge = storedMerges(card).find(each => each.repository === (repository ?? home))
  if (
    path === null ||
    (await stat(path).catch(() => undefined)) === undefined ||
    (await isClean(worktrees, project, path, card.gitBranch, merge?.head))
  )
    return
  if (!force)
    throw new Problem(
      'WORKTREE_DIRTY',
      repository && `${errors.WORKTREE_DIRTY[1]} It is in the repository ${repository}.`,
    )
  const patches = join(dataDir, 'patches')
  await mkdir(patches, { recursive: true, mode: 0o700 })
  await savePatch(
    worktrees,
    project,
    path,
    card.gitBranch,
    join(patches, `card-${[card.id, repository, Date.now()].filter(Boolean).join('-')}.patch`),
  )
}

/**
 * Returns the worktree at a path, which must be one of the project's repository.
 * @throws Problem PATH_NOT_ABSOLUTE, PATH_NOT_FOUND, NOT_A_GIT_REPOSITORY
 */
export async function requireWorktree(path: string, project: ProjectFolder): Promise<Repository> {
  if (!isAbsolute(path)) throw new Problem('PATH_NOT_ABSOLUTE')
  const real = await realpath(path).catch(() => {
    throw new Problem('PATH_NOT_FOUND')
  })
  if (!(await stat(real)).isDirectory()) throw new Problem('PATH_NOT_FOUND')
  const repository = await findProjectRepository(project)
  const worktree = repository && (await worktreeOf(repository, real))
  if (!worktree) throw new Problem('NOT_A_GIT_REPOSITORY', "path must be a worktree of the project's repository.")
  return worktree
}

/** Attaches a user's own worktree to a card. @throws Problem CARD_NOT_FOUND, CONFLICT if the card already has one */
export async function attach(tx: Transaction, ref: CardRef, path: string, branch: string | null): Promise<CardRow> {
  const card = await find(tx, ref)
  if (card.worktreeManaged === 1)
    throw new Problem('CONFLICT', 'The card already has a worktree that the board created. Remove it first.')
  if (card.worktreePath !== null && card.worktreePath !== path)
    throw new Problem('CONFLICT', 'The card already has an attached worktree. Detach it first.')
  return changeCard(tx, card, { worktreePath: path, worktreeManaged: false, gitBranch: branch, baseCommit: null })
}

/** Detaches a card's attached worktree. The folder is unchanged. @throws Problem CARD_NOT_FOUND, CONFLICT if it has none */
export async function detach(tx: Transaction, ref: CardRef): Promise<CardRow> {
  const card = await find(tx, ref)
  if (card.worktreePath === null) throw new Problem('CONFLICT', 'The card has no worktree to detach. Attach one first.')
  if (card.worktreeManaged === 1)
    throw new Problem('CONFLICT', "The board created the card's worktree. Remove the worktree instead.")
  return changeCard(tx, card, { worktreePath: null, worktreeManaged: false, gitBranch: null, baseCommit: null })
}
