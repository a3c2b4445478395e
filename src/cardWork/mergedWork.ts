import { home } from '../contract/forges/repositories.ts'
import type { RepositoryMerge } from '../store/cards/cardFields.ts'
import type { CardRow } from '../store/cards/cards.ts'
import type { Transaction } from '../store/engine/database.ts'
import { addMergeTarget, mergesOf, type MergedCard } from '../store/forges/merges.ts'
import { recordActivity } from '../domain/cards/activity.ts'
import { changeCard, changeCardIfThere, changeMerged } from '../domain/cards/cardChanges.ts'
import { branchWords } from './repositoryWork.ts'

/** A merge, with the branch that was merged. */
export interface NewMerge extends RepositoryMerge {
  branch: string | null
}

/**
 * Records merges of a card's work. With `isWhole`, all of the card's repositories that have work are merged. The card is then merged, with
 * the commit and the target branch of its home or, if that has no merge, of the first repository. It no longer awaits a review.
 */
export async function noteMerged(
  tx: Transaction,
  card: CardRow,
  merged: readonly NewMerge[],
  isWhole: boolean,
): Promise<CardRow> {
  const before = mergesOf(card)
  const isKnown = (merge: RepositoryMerge) => before.some(each => isSame(each, merge))
  const added = merged.filter(merge => !isKnown(merge))
  if (added.length === 0 && isWhole === (card.mergedAt !== null)) return card
  const names = new Set(merged.map(({ repository }) => repository))
  const merges = [
    ...before.filter(({ repository }) => !names.has(repository)),
    ...merged.map(({ branch: _, ...merge }) => merge),
  ].toSorted((a, b) => (a.repository < b.repository ? -1 : 1))
  for (const { repository, branch, into, commit, byForge } of added) {
    if (!byForge) addMergeTarget(tx, card.projectId, { repository, branch: into, tip: commit })
    recordActivity(tx, card.id, 'card.merged', [{ field: 'branch', from: branch, to: branchWords(repository, into) }])
  }
  const stored = JSON.stringify(merges)
  if (!isWhole) return changeCard(tx, card, { ...unmerged, merges: stored })
  const { commit, into } = merges.find(({ repository }) => repository === home) ?? merges[0]!
  return changeMerged(tx, card, {
    mergedAt: tx.now,
    mergedCommit: commit,
    mergedInto: into,
    merges: stored,
    reviewState: card.reviewState === 'approved' ? 'approved' : null,
  })
}

/** Resets a card that is no longer merged, because of these merges. */
export async function clearMerged(tx: Transaction, card: CardRow, lost: readonly RepositoryMerge[]): Promise<void> {
  await changeCard(tx, card, { ...unmerged, merges: withoutMerges(card, lost) })
}

/** Resets a card as `clearMerged` does. The card can be in the trash. */
export async function clearMergedIfThere(
  tx: Transaction,
  card: MergedCard,
  lost: readonly RepositoryMerge[],
): Promise<void> {
  await changeCardIfThere(tx, card, { ...unmerged, merges: withoutMerges(card, lost) })
}

const unmerged = { mergedAt: null, mergedCommit: null, mergedInto: null }

const withoutMerges = (card: MergedCard, lost: readonly RepositoryMerge[]): string =>
  JSON.stringify(mergesOf(card).filter(merge => !lost.some(each => isSame(each, merge))))

const isSame = (one: RepositoryMerge, other: RepositoryMerge): boolean =>
  one.repository === other.repository &&
  one.into === other.into &&
  one.commit === other.commit &&
  one.head === other.head
