import { Problem, refuse } from '../contract/errors.ts'
import type { ProjectFolder } from '../git/folderRecord.ts'
import { readCheckoutState, type CheckoutState } from '../git/checkoutState.ts'
import { commitOf } from '../git/commits.ts'
import { kindOf } from '../git/kindOf.ts'
import type { Comparison, DiffOptions } from '../worktrees/comparison.ts'
import { mergeWork, type EarlierMerge, type Merged, type MergeMode } from '../worktrees/merge.ts'
import type { Repository } from '../git/workingTrees.ts'
import { syncedWorktree } from '../worktrees/findWorktree.ts'
import type { CardRow } from '../store/cards/cards.ts'
import { hasActiveAgent } from '../views/cards.ts'
import { compareCommits, compareWorktree, readChangedFile } from '../worktrees/compareWorktree.ts'
import type { Worktrees } from '../worktrees/worktrees.ts'
import { findForkPoint } from './worktrees.ts'

type Project = ProjectFolder

/**
 * Compares a card's work with its base commit, including untracked files (specification "Diff"): in its worktree, else on
 * its branch, or in the project's folder if it works there. Undefined for a card that never ran.
 * @throws Problem NOT_A_GIT_REPOSITORY, CONFLICT when Git fails or takes too long
 */
export async function compareWork(
  worktrees: Worktrees,
  card: CardRow,
  project: Project,
  options: DiffOptions = {},
): Promise<Comparison | undefined> {
  const work = await workOf(worktrees, card, project)
  if (!work) return undefined
  const { repository, base, tip } = work
  return tip === undefined
    ? compareWorktree(worktrees, repository, base, options)
    : compareCommits(worktrees, repository, base, tip, options)
}

/**
 * A file changed by a card, before or after the change; for a card that never ran, as committed.
 * @throws Problem FILE_NOT_FOUND, and as `compareWork` does
 */
export async function changedFileOf(
  worktrees: Worktrees,
  card: CardRow,
  project: Project,
  file: { path: string; side: 'old' | 'new'; since?: string },
): Promise<Buffer> {
  const work = await workOf(worktrees, card, project)
  if (work) return readChangedFile(worktrees, work.repository, work.base, { ...file, tip: work.tip })
  const { repository } = (await readCheckoutState(project)) ?? refuse('NOT_A_GIT_REPOSITORY')
  if (repository.head === undefined) throw new Problem('FILE_NOT_FOUND')
  return readChangedFile(worktrees, repository, null, { ...file, tip: repository.head })
}

/** The location of a card's work, in a worktree or with `tip` on a branch, and its base commit. */
async function workOf(
  worktrees: Worktrees,
  card: CardRow,
  project: Project,
): Promise<{ repository: Repository; base: string | null; tip?: string } | undefined> {
  const checkout = (await readCheckoutState(project)) ?? refuse('NOT_A_GIT_REPOSITORY')
  const { repository } = checkout
  const place = await syncedWorktree(worktrees, repository, card.worktreePath)
  if (place) return { repository: place, base: card.baseCommit ?? (await findForkPoint(place, checkout)) }
  const tip = card.gitBranch === null ? undefined : await commitOf(repository.commonDir, `refs/heads/${card.gitBranch}`)
  if (tip !== undefined) return { repository, base: card.baseCommit, tip }
  return card.useWorktree === 0 && card.baseCommit !== null ? { repository, base: card.baseCommit } : undefined
}

/** The location of a card's work: the checkout of the project's folder, and the card's worktree if it exists. */
export interface IdleWork {
  checkout: CheckoutState
  place: Repository | undefined
}

/**
 * The work of a card whose agent is not running.
 * @throws Problem NOT_A_GIT_REPOSITORY, AGENT_ALREADY_RUNNING, CONFLICT
 */
export async function requireIdleWork(worktrees: Worktrees, card: CardRow, project: Project): Promise<IdleWork> {
  const checkout = (await readCheckoutState(project)) ?? refuse('NOT_A_GIT_REPOSITORY')
  if (hasActiveAgent(card))
    throw new Problem('AGENT_ALREADY_RUNNING', 'An agent is working on the card. Wait until it finishes, or cancel it.')
  if (card.gitBranch === null && card.worktreePath === null)
    refuse(
      'CONFLICT',
      card.mergedInto === null
        ? 'The card has no branch yet. It gets one when its agent starts.'
        : `The card's work is merged into ${card.mergedInto}, and its branch is removed.`,
    )
  const place = await syncedWorktree(worktrees, checkout.repository, card.worktreePath)
  if (place === undefined && card.worktreePath !== null && (await kindOf(card.worktreePath)) !== 'nothing')
    refuse('CONFLICT', "The card's worktree no longer belongs to the project's repository.")
  return { checkout, place }
}

/**
 * Merges a card's work into a branch, by default the current one of the project's folder. Uncommitted changes in its
 * worktree are committed there first. A trial fails like a merge, and changes nothing.
 * @throws Problem NOT_A_GIT_REPOSITORY, MERGE_CONFLICT, WORKTREE_DIRTY, AGENT_ALREADY_RUNNING, VALIDATION_FAILED,
 *   CONFLICT
 */
export async function merge(
  worktrees: Worktrees,
  card: CardRow,
  project: Project,
  {
    into,
    squash,
    mode = 'merge',
    earlier,
    tree,
  }: { into?: string; squash: boolean; mode?: MergeMode; earlier?: EarlierMerge; tree?: string },
): Promise<Merged> {
  const { place } = await requireIdleWork(worktrees, card, project)
  return mergeWork(worktrees, {
    project,
    worktreePath: place?.topLevel ?? null,
    branch: card.gitBranch,
    into,
    squash,
    base: card.baseCommit,
    title: inOneLine(card.title),
    mode,
    tree,
    earlier,
  })
}

/** Converts a title to the first line of a commit message. */
export const inOneLine = (title: string): string => title.replace(/\s+/g, ' ')
