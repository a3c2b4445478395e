import { invalid, Problem, refuse } from '../contract/errors.ts'
import { home } from '../contract/forges/repositories.ts'
import * as cards from '../domain/cards/cards.ts'
import { add, type LandingQueue } from '../domain/cards/landings.ts'
import { isCommand, listMergeGates, requireProofs } from '../domain/cards/proofs.ts'
import { find as findProject } from '../domain/projects/projects.ts'
import { findProjectRepository } from '../git/checkoutState.ts'
import { branchTip } from '../git/commits.ts'
import type { Reader, Transaction } from '../store/engine/database.ts'
import type { LandingRow } from '../store/forges/landings.ts'
import type { Worktrees } from '../worktrees/worktrees.ts'
import { requireIdleWork } from './changes.ts'
import { readTrees } from './provedTrees.ts'
import { listTouched } from './repositoryWork.ts'

/** A card that can be added to the landing queue of a branch, with the trees of its files. */
export interface LandingPlan {
  branch: string
  trees: string | null
}

/**
 * Determines the branch into which a card lands, by default the current one of the project's folder.
 * @throws Problem CARD_NOT_FOUND, NOT_A_GIT_REPOSITORY, AGENT_ALREADY_RUNNING; VALIDATION_FAILED for an unknown branch; CONFLICT if the card
 * has no branch, or has changes in other repositories than the home
 */
export async function planLanding(
  worktrees: Worktrees,
  db: Reader,
  ref: cards.CardRef,
  into: string | undefined,
): Promise<LandingPlan> {
  const [card, project] = [await cards.find(db, ref), await findProject(db, ref.projectId)]
  const repository = (await findProjectRepository(project)) ?? refuse('NOT_A_GIT_REPOSITORY')
  await requireIdleWork(worktrees, card, project)
  const branch =
    into ??
    repository.branch ??
    refuse('CONFLICT', "The project's folder has a detached HEAD. Specify the target branch.")
  if ((await branchTip(repository.commonDir, branch)) === undefined)
    throw invalid('into', 'must be a local branch of the repository.')
  const other = (await listTouched(worktrees, db, card, project)).find(work => work.repository !== home)
  if (other)
    throw new Problem(
      'CONFLICT',
      `The card has changes in the repository ${other.repository}. The landing queue takes only changes in the project's home.`,
    )
  return { branch, trees: await readTrees(worktrees, db, ref) }
}

/**
 * Adds a card to the landing queue. The approvals of the merge must be there; the queue runs the commands.
 * @throws Problem CARD_NOT_FOUND, GATE_NOT_PASSED; AGENT_ALREADY_RUNNING and CONFLICT as `add`
 */
export async function landCard(
  tx: Transaction,
  queue: LandingQueue,
  ref: cards.CardRef,
  { trees, branch, squash }: LandingPlan & { squash: boolean },
): Promise<LandingRow> {
  const card = await cards.find(tx, ref)
  await requireApprovals(tx, card, trees, ref.caller)
  return add(tx, queue, card, { caller: ref.caller, branch, squash })
}

/** Requires the approvals of the merge for a card's files. @throws Problem GATE_NOT_PASSED */
export async function requireApprovals(
  tx: Transaction,
  card: Parameters<typeof requireProofs>[1]['card'],
  trees: string | null,
  caller: cards.CardRef['caller'],
): Promise<void> {
  const gates = (await listMergeGates(tx, card.projectId)).filter(gate => !isCommand(gate))
  await requireProofs(tx, { card, gates, trees, caller, force: false })
}
