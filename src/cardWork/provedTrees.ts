import { Problem } from '../contract/errors.ts'
import type { Caller } from '../domain/accounts/caller.ts'
import { find as findCard, type CardRef } from '../domain/cards/cards.ts'
import { listGatesAhead, listMergeGates, requireProofs } from '../domain/cards/proofs.ts'
import { find as findProject } from '../domain/projects/projects.ts'
import { findProjectRepository } from '../git/checkoutState.ts'
import { treesOf } from '../git/commits.ts'
import { hasGates, listGatesBetween } from '../store/boards/gates.ts'
import type { CardRow } from '../store/cards/cards.ts'
import type { Database, Reader } from '../store/engine/database.ts'
import type { DiffOptions } from '../worktrees/comparison.ts'
import type { Worktrees } from '../worktrees/worktrees.ts'
import { listTrees, projectIn, textOfTrees, type ProjectPlaces, type WorkTree } from './repositoryWork.ts'

interface ProofDependencies {
  db: Database
  worktrees: Worktrees
}
/** Who merges. Without a caller, the board. */
interface Merging {
  caller: Caller | undefined
  force: boolean
}

/**
 * The trees of a card's current files, for proofs. Undefined if there is nothing to prove: the project has no repository, or the card has no
 * work.
 * @throws Problem CONFLICT if Git fails
 */
export const listProvableTrees = (
  worktrees: Worktrees,
  db: Reader,
  card: CardRow,
  project: ProjectPlaces,
  options?: Pick<DiffOptions, 'stores'>,
): Promise<WorkTree[] | undefined> =>
  listTrees(worktrees, db, card, project, options).catch((error: unknown) => {
    if (error instanceof Problem && error.code === 'NOT_A_GIT_REPOSITORY') return undefined
    throw error
  })

/**
 * Adds to a card the trees of its current files, if gates are on its way. Call it before the transaction of a step that requires proofs.
 * @param toColumnId the target of a move; by default, all gates ahead of the card count
 * @throws Problem CARD_NOT_FOUND; CONFLICT if Git fails
 */
export async function withTrees<Ref extends CardRef>(
  worktrees: Worktrees,
  db: Reader,
  ref: Ref,
  toColumnId?: number,
): Promise<Ref> {
  if (!(await hasGates(db, ref.projectId))) return ref
  const card = await findCard(db, ref)
  const gates =
    toColumnId === undefined ? await listGatesAhead(db, card) : await listGatesBetween(db, card.columnId, toColumnId)
  if (gates.length === 0) return ref
  const trees = await listProvableTrees(worktrees, db, card, await findProject(db, ref.projectId))
  return trees === undefined ? ref : { ...ref, trees: textOfTrees(trees) }
}

/**
 * Requires that a card has passed the gates of the merge.
 * @returns the trees that were proved; undefined if the project has no such gates, or with `force`
 * @throws Problem GATE_NOT_PASSED; CONFLICT if Git fails
 */
export async function requireMergeProofs(
  { db, worktrees }: ProofDependencies,
  card: CardRow,
  project: ProjectPlaces,
  { caller, force }: Merging,
): Promise<WorkTree[] | undefined> {
  const gates = await listMergeGates(db, card.projectId)
  if (gates.length === 0) return undefined
  const found = await listProvableTrees(worktrees, db, card, project)
  const trees = found && textOfTrees(found)
  await db.transaction(tx => requireProofs(tx, { card, gates, trees, caller, force }))
  return force ? undefined : found
}

/**
 * Requires that a card has passed the gates of the merge with the files of a commit, which its pull request proposes.
 * @throws Problem GATE_NOT_PASSED; CONFLICT if Git fails
 */
export async function requireCommitProofs(
  dependencies: ProofDependencies,
  card: CardRow,
  project: ProjectPlaces,
  { repository: name, commit, ...merging }: Merging & { repository: string; commit: string },
): Promise<void> {
  const proved = await requireMergeProofs(dependencies, card, project, merging)
  if (proved === undefined) return
  const repository = await findProjectRepository(projectIn(project, name))
  const [tree] = repository ? await treesOf(repository.commonDir, [commit]) : []
  if (tree === undefined || tree !== proved.find(each => each.repository === name)?.tree)
    throw new Problem(
      'GATE_NOT_PASSED',
      "The pull request has other files than the card. Push the card's branch, then merge again.",
    )
}

/** `requireCommitProofs` for the commit that a forge is about to merge. */
export const proving =
  (
    dependencies: ProofDependencies,
    card: CardRow,
    project: ProjectPlaces,
    merging: Merging & { repository: string },
  ): ((commit: string) => Promise<void>) =>
  commit =>
    requireCommitProofs(dependencies, card, project, { ...merging, commit })
