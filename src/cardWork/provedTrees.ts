import { Problem } from '../contract/errors.ts'
import type { Caller } from '../domain/accounts/caller.ts'
import { find as findCard, type CardRef } from '../domain/cards/cards.ts'
import { listMergeGates, requireProofs, TreesUnread } from '../domain/cards/proofs.ts'
import { find as findProject } from '../domain/projects/projects.ts'
import { findProjectRepository } from '../git/checkoutState.ts'
import { treesOf } from '../git/commits.ts'
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

/** The trees of a card's current files as one text; null if there is nothing to prove. @throws Problem CARD_NOT_FOUND, CONFLICT */
export async function readTrees(worktrees: Worktrees, db: Reader, ref: CardRef): Promise<string | null> {
  const [card, project] = [await findCard(db, ref), await findProject(db, ref.projectId)]
  const trees = await listProvableTrees(worktrees, db, card, project)
  return trees === undefined ? null : textOfTrees(trees)
}

/**
 * Takes a step that can require proofs. If gates are on the way, reads the card's files, and takes the step again.
 * @throws what the step throws; Problem CONFLICT if Git fails
 */
export const withProofs = <Ref extends CardRef, Result>(
  { worktrees, db }: ProofDependencies,
  ref: Ref,
  step: (ref: Ref) => Promise<Result>,
): Promise<Result> =>
  step(ref).catch(async (error: unknown) => {
    if (!(error instanceof TreesUnread)) throw error
    return step({ ...ref, trees: await readTrees(worktrees, db, ref) })
  })

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
  const trees = found ? textOfTrees(found) : null
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
