import { InvalidArgumentError } from 'commander'
import type { AfterMerge } from '../../src/contract/forges/afterMerge.ts'

const steps = ['done', 'worktree'] as const

/** Parses the steps after a merge: `done`, `worktree`, `done,worktree` or `none`. */
export function afterMergeIn(text: string): AfterMerge {
  const given = text === 'none' ? [] : text.split(',').map(step => step.trim())
  if (given.some(step => !steps.some(each => each === step)))
    throw new InvalidArgumentError('must be done, worktree, done,worktree or none.')
  return { moveToDone: given.includes('done'), removeWorktree: given.includes('worktree') }
}

/** The steps after a merge, in the format of `afterMergeIn`. */
export const afterMergeText = ({ moveToDone, removeWorktree }: AfterMerge): string =>
  [moveToDone && 'done', removeWorktree && 'worktree'].filter(Boolean).join(',') || 'none'
