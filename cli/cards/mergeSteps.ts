import type { AfterMerge, DoneAfterMerge } from '../../src/contract/forges/afterMerge.ts'
import type { Card } from './cardApi.ts'

/** Finds the steps that can follow the merge of a card and have not run yet. Empty if a step was not possible. */
export function findOpenSteps(card: Card, after: DoneAfterMerge): AfterMerge {
  const { mergedAt, columnType, archivedAt, useWorktree, gitBranch } = card
  if (!mergedAt || after.problem !== null) return { moveToDone: false, removeWorktree: false }
  return {
    moveToDone: columnType !== 'done' && !archivedAt,
    removeWorktree: !after.removedWorktree && useWorktree === true && gitBranch !== null,
  }
}

/** The steps that a merge took, as sentences. */
export const stepsTaken = (id: string, { movedToDone, removedWorktree }: DoneAfterMerge): string[] => [
  ...(movedToDone ? [`Moved card ${id} to its done column.`] : []),
  ...(removedWorktree ? [`Removed the worktree of card ${id}.`] : []),
]
