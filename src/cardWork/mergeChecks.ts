import { setTimeout as delay } from 'node:timers/promises'
import { coalesce } from '../async/coalesce.ts'
import { findProjectRepository } from '../git/checkoutState.ts'
import { hasOwnCommit, isAncestor, listNotIn, readBranchTip, treesOf } from '../git/commits.ts'
import { GitFailed } from '../git/git.ts'
import type { Repository } from '../git/workingTrees.ts'
import { Problem } from '../contract/errors.ts'
import type { RepositoryMerge } from '../store/cards/cardFields.ts'
import { readCard, type CardRow } from '../store/cards/cards.ts'
import type { Database, Reader } from '../store/engine/database.ts'
import {
  countMergedCards,
  listMergedCards,
  listMergeProjects,
  listMergeTargets,
  mergesOf,
  setMergeTarget,
  type MergeTarget,
} from '../store/forges/merges.ts'
import { readProject, type ProjectRow } from '../store/projects/projects.ts'
import type { Comparison } from '../worktrees/comparison.ts'
import { areUnchanged, checkBranches, type CheckedBranches } from './mergedBranches.ts'
import { clearMerged, clearMergedIfThere } from './mergedWork.ts'
import { projectIn, workIn } from './repositoryWork.ts'

/** A reader waits this long for a check, which continues without the reader. */
const maxWaitMs = 2000

/** Checks whether merged cards are still merged: the target branch contains the merge, and the card has no new work. */
export interface MergeChecks {
  /**
   * Checks the branches that a project's cards were merged into, and the branches of these cards. If none of them moved, this
   * starts no process and reads no branch of a card.
   */
  ofProject(projectId: number): Promise<void>
  /** Checks all branches of all projects of this machine. */
  ofAll(): Promise<void>
  /** Checks a card, including its branch. */
  ofCard(card: Pick<CardRow, 'id' | 'projectId' | 'mergedAt'>): Promise<void>
}

/** @param cached a reader that reads again only after a commit, because each list of cards queries the merges */
export function createMergeChecks(db: Database, cached: Reader): MergeChecks {
  /** One check at a time per project. Requests that arrive during one share the next. */
  const checks = new Map<number, () => Promise<void>>()
  const checked = new Map<number, CheckedBranches>()
  const checkProject = async (projectId: number, isFull: boolean) => {
    await checkTargets(db, projectId)
    const [merges, before] = [await readMerges(cached, projectId), checked.get(projectId)]
    if (merges === undefined || (!isFull && (await areUnchanged(before, merges)))) return
    const project = await findHere(db, projectId)
    const check = (id: number) => checkCard(db, { id, projectId })
    if (project) checked.set(projectId, await checkBranches(db, project, merges, before, check))
  }
  return {
    ofProject: async projectId => {
      if ((await countMergedCards(cached, projectId)) === 0) return
      const check = checks.get(projectId) ?? coalesce(() => checkProject(projectId, false))
      checks.set(projectId, check)
      await inTime(check())
    },
    ofAll: async () => {
      for (const projectId of await listMergeProjects(db, db.host)) await ignoreFailure(checkProject(projectId, true))
    },
    ofCard: async card => {
      if (card.mergedAt !== null) await inTime(checkCard(db, card))
    },
  }
}

/** The branches with merges of a project, and the number of its merged cards. Undefined if it has none. */
async function readMerges(db: Reader, projectId: number): Promise<string | undefined> {
  const count = await countMergedCards(db, projectId)
  return count === 0 ? undefined : JSON.stringify([count, await listMergeTargets(db, projectId)])
}

const inTime = (check: Promise<void>): Promise<void> =>
  Promise.race([ignoreFailure(check), delay(maxWaitMs, undefined, { ref: false })])

/** A repository that cannot be read is not evidence of a lost merge, so the card stays merged. */
async function ignoreFailure(check: Promise<void>): Promise<void> {
  await check.catch((error: unknown) => {
    if (!(error instanceof GitFailed || error instanceof Problem)) throw error
  })
}

async function checkTargets(db: Database, projectId: number): Promise<void> {
  const targets = await listMergeTargets(db, projectId)
  const project = targets.length === 0 ? undefined : await findHere(db, projectId)
  if (project) for (const target of targets) await ignoreFailure(checkTarget(db, project, target))
}

/** A project whose folder is on this machine. */
async function findHere(db: Database, projectId: number): Promise<ProjectRow | undefined> {
  const project = await readProject(db, projectId)
  return project && (project.host === null || project.host === db.host) ? project : undefined
}

async function checkTarget(db: Database, project: ProjectRow, target: MergeTarget): Promise<void> {
  const repository = await findProjectRepository(projectIn(project, target.repository))
  if (!repository) return
  const { commonDir } = repository
  const tip = await readBranchTip(commonDir, target.branch)
  if (tip === target.tip) return
  const isForward = tip !== undefined && target.tip !== '' && (await isAncestor(commonDir, target.tip, tip))
  const lost = isForward ? [] : await listLost(db, project.id, target, repository, tip)
  await db.transaction(async tx => {
    const present = lost.length === 0 ? [] : await listMergedCards(tx, project.id)
    for (const { id, merge } of lost) {
      const card = present.find(each => each.id === id)
      if (card && mergesOf(card).some(each => each.commit === merge.commit)) await clearMergedIfThere(tx, card, [merge])
    }
    setMergeTarget(tx, project.id, target, tip)
  })
}

/** The merges into a branch that no longer contains them. */
async function listLost(
  db: Database,
  projectId: number,
  target: MergeTarget,
  { commonDir }: Repository,
  tip: string | undefined,
): Promise<Array<{ id: number; merge: RepositoryMerge }>> {
  const all = (await listMergedCards(db, projectId)).flatMap(card =>
    mergesOf(card)
      .filter(each => !each.byForge && each.into === target.branch && each.repository === target.repository)
      .map(merge => ({ id: card.id, merge })),
  )
  if (tip === undefined) return all
  const lost = new Set(
    await listNotIn(
      commonDir,
      all.map(({ merge }) => merge.commit),
      tip,
    ),
  )
  return all.filter(({ merge }) => lost.has(merge.commit))
}

async function checkCard(db: Database, { id, projectId }: Pick<CardRow, 'id' | 'projectId'>): Promise<void> {
  await checkTargets(db, projectId)
  const [card, project] = [await readCard(db, projectId, id), await findHere(db, projectId)]
  if (!card || !project || card.mergedAt === null) return
  for (const merge of mergesOf(card)) {
    const work = await workIn(db, card, project, merge.repository)
    const repository = await findProjectRepository(work.project)
    const { gitBranch, baseCommit } = work.card
    const own = repository && gitBranch !== null ? await readBranchTip(repository.commonDir, gitBranch) : undefined
    if (!repository || own === undefined || own === merge.head) continue
    const into = await readBranchTip(repository.commonDir, merge.into)
    const known = [merge.head, merge.commit, into, baseCommit].flatMap(each => each ?? [])
    if (await hasOwnCommit(repository.commonDir, own, known)) return clear(db, card, merge)
  }
}

/** Checks a card whose current files in a repository were compared with its base. */
export async function checkFiles(db: Database, card: CardRow, repository: string, compared: Comparison): Promise<void> {
  if (card.mergedAt === null) return
  await ignoreFailure(checkCard(db, card))
  await ignoreFailure(checkUncommitted(db, card, repository, compared))
}

/** Uncommitted changes are new work, unless they are the merged changes. */
async function checkUncommitted(db: Database, card: CardRow, name: string, comparison: Comparison): Promise<void> {
  const { headCommit, snapshot } = comparison
  const merge = mergesOf(card).find(({ repository }) => repository === name)
  const project = await findHere(db, card.projectId)
  if (!merge || !project || headCommit === null || snapshot === headCommit) return
  const repository = await findProjectRepository(projectIn(project, name))
  const merged = repository && (await treesOf(repository.commonDir, [headCommit, merge.head]))
  if (merged && !merged.includes(snapshot)) await clear(db, card, merge)
}

const clear = (db: Database, { id, projectId, merges }: CardRow, merge: RepositoryMerge): Promise<void> =>
  db.transaction(async tx => {
    const present = await readCard(tx, projectId, id)
    if (present && present.mergedAt !== null && present.merges === merges) await clearMerged(tx, present, [merge])
  })
