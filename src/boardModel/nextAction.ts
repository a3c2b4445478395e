import type { Card } from './cardCache.ts'

export type NextAction = 'answer' | 'review' | 'merge' | 'retry'

type Worked = Pick<
  Card,
  'status' | 'statusReason' | 'monitorQuestions' | 'hasActiveAgent' | 'mergedInto' | 'pullRequest' | 'reviewState'
>

/**
 * Returns the one action that the work on a card requires from a user. Undefined if it requires none.
 * @param filesChanged the known number of files that the card's work changes
 */
export function nextActionOf(card: Worked, filesChanged = 0): NextAction | undefined {
  const { status, statusReason, monitorQuestions, reviewState } = card
  const isAsking = status === 'waiting' && (statusReason === null || statusReason === 'question')
  if (isAsking || monitorQuestions > 0) return 'answer'
  if (status === 'failed' || status === 'interrupted') return 'retry'
  if (!awaitsMerge(card) || filesChanged === 0) return undefined
  return reviewState === 'approved' ? 'merge' : 'review'
}

/** Whether an agent has finished work that is neither merged nor in a pull request. */
export const awaitsMerge = ({ status, mergedInto, pullRequest }: Worked): boolean =>
  status === 'completed' && mergedInto === null && pullRequest === null

/** Whether a card shows its agent: from its start until its work is merged or done. */
export const showsAgent = (card: Worked, columnType: string | undefined): boolean =>
  card.hasActiveAgent ||
  nextActionOf(card) !== undefined ||
  (card.status === 'completed' && card.mergedInto === null && columnType !== 'done')
