import { merge } from '../../cardWork/changes.ts'
import { requireApprovals } from '../../cardWork/landCard.ts'
import { finishMerge, mergeOf } from '../../cardWork/mergeCard.ts'
import { noteMerged } from '../../cardWork/mergedWork.ts'
import { readTrees } from '../../cardWork/provedTrees.ts'
import type { Removal } from '../../cardWork/removeWorktree.ts'
import { Problem } from '../../contract/errors.ts'
import { home } from '../../contract/forges/repositories.ts'
import { change, isOpen } from '../../domain/cards/landings.ts'
import { findProjectRepository } from '../../git/checkoutState.ts'
import { branchTip, treesOf } from '../../git/commits.ts'
import { readCard, type CardRow } from '../../store/cards/cards.ts'
import type { Reader } from '../../store/engine/database.ts'
import { readLanding, type LandingRow } from '../../store/forges/landings.ts'
import { afterMergeOf, readProject, type ProjectRow } from '../../store/projects/projects.ts'
import { hasActiveAgent } from '../../views/cards.ts'
import { isPublished, publishMerge, type Merged } from '../../worktrees/merge.ts'
import type { CheckDependencies } from '../checkRun.ts'
import type { GateDependencies } from '../gateRunner.ts'
import { removeLandingFolder } from './landingFolder.ts'
import { MergeTest } from './mergeTest.ts'
import type { Rejection } from './rejectLanding.ts'

export interface LandingDependencies extends GateDependencies {
  removal: Removal
}
type Dependencies = CheckDependencies & LandingDependencies

/** An entry of the queue at work. */
export interface LiveLanding {
  landing: LandingRow
  test: MergeTest | undefined
  stopReason: string | null
}
/** An entry that stays in the queue: it is tried again. */
export class Postponed extends Error {}

export const agentStarted = 'An agent started to work on the card.'

/**
 * Merges the card of an entry, tests the merge, and moves the branch to it.
 * @returns why the entry is rejected; undefined if it has landed or was removed
 * @throws Postponed if the branch cannot move now
 */
export const landEntry = (dependencies: Dependencies, live: LiveLanding): Promise<Rejection | undefined> =>
  mergeTested(dependencies, live).catch((error: unknown) => {
    if (!(error instanceof Problem) || error.status >= 500) throw error
    // Local changes in the files of the branch concern all cards.
    return error.code === 'WORKTREE_DIRTY' ? postpone(error) : { reason: error.message }
  })

async function mergeTested(dependencies: Dependencies, live: LiveLanding): Promise<Rejection | undefined> {
  const { db, worktrees, supervisor } = dependencies
  const { landing } = live
  const { projectId, cardId } = landing
  const ref = { projectId, cardId }
  const [project, card] = [await readProject(db, projectId), await readCard(db, projectId, cardId)]
  if (!project || !card || card.archivedAt !== null) return { reason: 'The card was deleted or archived.' }
  // A server that was killed has left the folder.
  if (landing.status === 'testing') await removeLandingFolder(dependencies, project, landing.id)
  const earlier = await findPublished(landing, project)
  if (earlier) {
    await publishMerge(worktrees, project, earlier).catch(postpone)
    return finish(dependencies, landing, project, earlier)
  }
  if (hasActiveAgent(card)) return { reason: agentStarted }
  await supervisor.endLate(cardId)
  const trees = await readTrees(worktrees, db, ref)
  await db.transaction(tx => requireApprovals(tx, card, trees, undefined))
  const merged = await prepare(dependencies, landing, card, project)
  if ('reason' in merged) return merged
  if (merged.merged) {
    const rejection = await test(dependencies, live, card, project, merged)
    if (rejection || live.stopReason !== null) return rejection
    if ((await readTrees(worktrees, db, ref)) !== trees)
      return { reason: 'The files of the card changed during the test.' }
    // The test takes time: the entry can have been removed, or an approval withdrawn.
    await db.transaction(async tx => {
      await requireOpen(tx, landing)
      await requireApprovals(tx, card, trees, undefined)
    })
    await publishMerge(worktrees, project, merged).catch(postpone)
  }
  return finish(dependencies, landing, project, merged)
}

/** The merge of an entry that reached its branch before the server was stopped. */
async function findPublished(
  { status, baseCommit: from, mergeCommit: commit, head, branch: into }: LandingRow,
  project: ProjectRow,
): Promise<Merged | undefined> {
  if (status !== 'testing' || from === null || commit === null || head === null) return undefined
  const isThere = await isPublished(project, { into, commit })
  return isThere ? { merged: true, into, from, commit, head } : undefined
}

/** Creates the merged commit, and stores it with the entry. */
async function prepare(
  { db, worktrees }: Dependencies,
  { id, branch, squash }: LandingRow,
  card: CardRow,
  project: ProjectRow,
): Promise<Merged | Rejection> {
  const options = { into: branch, squash: squash === 1, mode: 'prepare' } as const
  const merged = await merge(worktrees, card, project, options).catch(async (error: unknown) => {
    if (!(error instanceof Problem && error.code === 'MERGE_CONFLICT')) throw error
    return { reason: error.message, conflict: error, base: await readTip(project, branch) }
  })
  if ('reason' in merged) return merged
  const { from: baseCommit, commit: mergeCommit, head } = merged
  await db.transaction(async tx => {
    await requireOpen(tx, { id })
    const tested = { baseCommit, mergeCommit, head, startedAt: tx.now }
    await change(tx, id, { status: 'testing', reason: null, ...tested })
  })
  return merged
}

/** @throws Postponed if the entry was removed from the queue */
async function requireOpen(db: Reader, { id }: Pick<LandingRow, 'id'>): Promise<void> {
  const row = await readLanding(db, id)
  if (!row || !isOpen(row)) throw new Postponed('It was removed from the queue.')
}

/** Runs the gates on the merged commit. */
async function test(
  dependencies: Dependencies,
  live: LiveLanding,
  card: CardRow,
  project: ProjectRow,
  { from, commit }: Merged,
): Promise<Rejection | undefined> {
  const repository = await findProjectRepository(project)
  const [tree] = repository ? await treesOf(repository.commonDir, [commit]) : []
  if (tree === undefined) throw new Postponed('The merged commit is missing.')
  live.test = new MergeTest(dependencies, { landingId: live.landing.id, card, project, commit, tree })
  if (live.stopReason !== null) live.test.stop(live.stopReason)
  const failure = await live.test.run()
  if (live.stopReason !== null) return live.stopReason === agentStarted ? { reason: agentStarted } : undefined
  if (failure === undefined) return undefined
  return failure.gate === null
    ? { reason: failure.problem }
    : { reason: `The gate ${failure.gate.name} failed: ${failure.proof.summary}`, failure, base: from }
}

/** Records a merge that has reached its branch. The card can have been deleted in the meantime. */
async function finish(
  { db, worktrees, supervisor: agents, removal }: Dependencies,
  { id, projectId, cardId }: LandingRow,
  project: ProjectRow,
  merged: Merged,
): Promise<undefined> {
  let isAwaited = false
  const noted = await db.transaction(async tx => {
    await change(tx, id, { status: 'landed', reason: null, withAgent: false, finishedAt: tx.now })
    const card = await readCard(tx, projectId, cardId)
    isAwaited = card?.statusReason === 'landing'
    return card && noteMerged(tx, card, [mergeOf({ ...merged, repository: home, branch: card.gitBranch })], true)
  })
  if (!noted) return
  const dependencies = { db, worktrees, agents, removal }
  const usual = afterMergeOf(project)
  // Of a card in auto mode, the done column is the next step.
  const wanted = { ...usual, moveToDone: usual.moveToDone || isAwaited }
  const { problem } = await finishMerge(dependencies, noted, project, undefined, wanted)
  if (problem !== null) await db.transaction(async tx => change(tx, id, { reason: problem }))
}

/** Postpones an entry whose branch cannot move now. */
function postpone(error: unknown): never {
  throw error instanceof Problem && error.status < 500 ? new Postponed(error.message) : error
}

/** The commit of a branch of the project's repository. @throws Problem CONFLICT */
async function readTip(project: ProjectRow, branch: string): Promise<string> {
  const repository = await findProjectRepository(project)
  const tip = repository && (await branchTip(repository.commonDir, branch))
  if (tip === undefined) throw new Problem('CONFLICT', `The branch ${branch} no longer exists.`)
  return tip
}
