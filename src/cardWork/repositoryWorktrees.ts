import { rmdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { isBelowRoot, newWorktreePath, repositoriesFolder, type WorktreePlaces } from '../worktrees/worktreePlaces.ts'
import { Problem } from '../contract/errors.ts'
import { dropWorktree, makeWorktree } from '../worktrees/cardWorktrees.ts'
import { planWorktree, planWorktreeOn, type WorktreePlan } from '../worktrees/planWorktree.ts'
import { readCheckoutState, type CheckoutState } from '../git/checkoutState.ts'
import { unfinishedPath } from '../git/addWorktree.ts'
import { kindOf } from '../git/kindOf.ts'
import type { RemoteReach } from '../git/remoteGit.ts'
import {
  deleteCardRepository,
  listCardRepositories,
  putCardRepository,
  type CardRepositoryRow,
} from '../store/cards/cardRepositories.ts'
import type { CardRow } from '../store/cards/cards.ts'
import type { Database, Reader } from '../store/engine/database.ts'
import { repositoriesOf, type ProjectRow } from '../store/projects/projects.ts'
import { findCardBase } from './worktreeBase.ts'
import { copiedOf, requireNothingLost, type Workplace, type WorkplaceRepository } from './worktrees.ts'
import type { Worktrees } from '../worktrees/worktrees.ts'

type Project = Pick<ProjectRow, 'id' | 'path' | 'folderRecords' | 'repositories' | 'copiedFiles'>

/** The project's other repositories for a card's agent, with the remarks for users. */
interface PreparedRepositories {
  repositories: WorkplaceRepository[]
  remarks: string[]
}

/**
 * Ensures that a card which works in worktrees has one in each of its project's other repositories, on a branch of the same name
 * if that is unused. Each is stored before it is created, so that an interrupted start can be resumed. At most one call at a time
 * per card.
 * @throws Problem CONFLICT (a repository was deleted, a branch is in use), CARD_NOT_FOUND, DISK_FULL
 */
export async function ensureRepositories(
  worktrees: Worktrees,
  db: Database,
  card: CardRow,
  project: Project,
  place: Workplace,
  places: WorktreePlaces,
  reach: RemoteReach,
): Promise<PreparedRepositories> {
  const prepared: PreparedRepositories = { repositories: [], remarks: [] }
  const all = repositoriesOf(project)
  if (all.length === 0) return prepared
  const rows = card.useWorktree === 0 ? [] : await listCardRepositories(db, card.id)
  const folder = await folderFor(card, project, rows, place, places)
  let branch = place.isManaged ? place.branch : null
  for (const { name, path } of all) {
    const checkout = await readCheckoutState({ ...project, path })
    if (!checkout) throw inRepository(name, `${path} no longer exists, or is not a Git repository.`)
    const row = rows.find(each => each.name === name)
    if (card.useWorktree === 0 || (checkout.commit === null && !row)) {
      prepared.repositories.push({ name, path, worktreePath: null, branch: null })
      if (card.useWorktree === 1)
        prepared.remarks.push(`The repository ${name} has no commit yet, so the agent can only read it.`)
      continue
    }
    const site = { name, path, checkout, place: join(folder, name) }
    const { plan, remark } = await planFor(worktrees, db, card, row, site, branch, reach)
    await saveWorktree(db, card, { name, path }, plan)
    const made = await makeWorktree(
      worktrees,
      path,
      checkout,
      plan,
      copiedOf(project, places),
      row?.worktreePath ?? null,
    )
    if (made.baseCommit !== plan.baseCommit) await saveWorktree(db, card, { name, path }, made)
    prepared.repositories.push({ name, path, worktreePath: made.path, branch: made.branch })
    if (remark) prepared.remarks.push(`${name}: ${remark}`)
    branch ??= made.branch
  }
  return prepared
}

interface Site {
  name: string
  path: string
  checkout: CheckoutState
  place: string
}

async function planFor(
  worktrees: Worktrees,
  db: Database,
  card: CardRow,
  row: CardRepositoryRow | undefined,
  { name, checkout, place }: Site,
  branch: string | null,
  reach: RemoteReach,
): Promise<{ plan: WorktreePlan; remark?: string }> {
  if (row) return { plan: { path: place, branch: row.branch, baseCommit: row.baseCommit } }
  const { commit, remark } = await findCardBase({ worktrees, db, checkout, reach, repository: name }, card)
  const begin = { ...checkout, commit }
  const plan =
    branch === null ? await planWorktree(begin, place, card) : await planWorktreeOn(branch, begin, place, card)
  return { plan, remark }
}

async function saveWorktree(
  db: Database,
  { id }: CardRow,
  { name, path }: { name: string; path: string },
  { path: worktreePath, branch, baseCommit }: WorktreePlan,
): Promise<void> {
  const isThere = await db.transaction(tx =>
    putCardRepository(tx, { cardId: id, name, path, branch, baseCommit, worktreePath }),
  )
  if (!isThere) throw new Problem('CARD_NOT_FOUND')
}

/** The folder for all worktrees of a card outside its home: the existing one, otherwise next to the card's own worktree. */
async function folderFor(
  { id }: CardRow,
  project: Project,
  rows: readonly CardRepositoryRow[],
  { worktreePath }: Workplace,
  places: WorktreePlaces,
): Promise<string> {
  for (const { worktreePath: path } of rows)
    if (path !== null && isBelowRoot(places, path) && (await isThere(path))) return dirname(path)
  const isOwn = worktreePath !== null && isBelowRoot(places, worktreePath)
  return repositoriesFolder(isOwn ? worktreePath : newWorktreePath(places, project.id, id))
}

const isThere = async (path: string): Promise<boolean> =>
  (await kindOf(path)) !== 'nothing' || (await kindOf(unfinishedPath(path))) !== 'nothing'

/** The current state of the project's other repositories for a card. Creates no worktrees. */
export async function findRepositories(
  db: Reader,
  card: Pick<CardRow, 'id' | 'useWorktree'>,
  project: Pick<ProjectRow, 'repositories'>,
): Promise<WorkplaceRepository[]> {
  const all = repositoriesOf(project)
  if (all.length === 0) return []
  const rows = card.useWorktree === 0 ? [] : await listCardRepositories(db, card.id)
  return Promise.all(
    all.map(async ({ name, path }) => {
      const { worktreePath = null, branch = null } = rows.find(each => each.name === name) ?? {}
      const isMade = worktreePath !== null && (await kindOf(worktreePath)) === 'folder'
      return { name, path, worktreePath: isMade ? worktreePath : null, branch: isMade ? branch : null }
    }),
  )
}

/** The folders of a card's worktrees in its project's other repositories. */
export async function otherWorktrees(
  db: Reader,
  cardId: number,
  project: Pick<ProjectRow, 'repositories'>,
): Promise<string[]> {
  const found = await findRepositories(db, { id: cardId, useWorktree: 1 }, project)
  return found.flatMap(({ worktreePath }) => worktreePath ?? [])
}

/**
 * Ensures for a card's worktrees outside its home what `requireNothingLost` ensures for the home.
 * @throws Problem WORKTREE_DIRTY
 */
export async function requireNoUnsavedWork(
  worktrees: Worktrees,
  db: Reader,
  card: Pick<CardRow, 'id' | 'merges'>,
  { folderRecords }: Pick<ProjectRow, 'folderRecords'>,
  force: boolean,
  dataDir: string,
): Promise<void> {
  const { id } = card
  await requireAllKept(worktrees, folderRecords, card, await listCardRepositories(db, id), force, dataDir)
}

/** The leftovers of a card in a repository. */
export type LeftWorktree = Pick<CardRepositoryRow, 'name' | 'path' | 'branch' | 'worktreePath'>

/** @throws Problem WORKTREE_DIRTY */
export async function requireAllKept(
  worktrees: Worktrees,
  folderRecords: string,
  { id, merges }: Pick<CardRow, 'id'> & Partial<Pick<CardRow, 'merges'>>,
  left: readonly LeftWorktree[],
  force: boolean,
  dataDir: string,
): Promise<void> {
  for (const { name, path, worktreePath, branch } of left)
    await requireNothingLost(
      worktrees,
      { path, folderRecords },
      { id, merges, worktreePath, gitBranch: branch },
      force,
      dataDir,
      name,
    )
}

/**
 * Removes the leftovers of a card in a repository. The caller has ensured that no work is lost.
 * @returns whether its branch still exists: it is deleted only if other branches contain all its commits
 * @throws Problem CONFLICT
 */
export async function dropLeftover(
  worktrees: Worktrees,
  folderRecords: string,
  { path, branch, worktreePath }: LeftWorktree,
): Promise<boolean> {
  if (worktreePath === null) return true
  const hasBranch = await dropWorktree(worktrees, { path, folderRecords }, worktreePath, branch)
  await rmdir(dirname(worktreePath)).catch(() => {
    /* The folder contains other worktrees of the card, or was deleted. */
  })
  return hasBranch
}

/** Removes a card's worktrees outside its home. The caller has ensured that no work is lost. @throws Problem CONFLICT */
export async function removeOtherWorktrees(
  worktrees: Worktrees,
  db: Database,
  { id }: Pick<CardRow, 'id'>,
  project: Pick<ProjectRow, 'repositories' | 'folderRecords'>,
): Promise<void> {
  for (const row of await listCardRepositories(db, id)) {
    if (row.worktreePath === null) continue
    const path = repositoriesOf(project).find(({ name }) => name === row.name)?.path ?? row.path
    const hasBranch = await dropLeftover(worktrees, project.folderRecords, { ...row, path })
    await db.transaction(async tx => {
      if (hasBranch) await putCardRepository(tx, { ...row, worktreePath: null })
      else await deleteCardRepository(tx, id, row.name)
    })
  }
}

const inRepository = (name: string, message: string) => new Problem('CONFLICT', `The repository ${name}: ${message}`)
