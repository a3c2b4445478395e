import { landedAction } from '../contract/cards/cardRecords.ts'
import type { CardDetail } from './cardCache.ts'

/** The message of a card whose work is already in its base, so that its worktree is no longer needed. Undefined for others. */
export const landedWords = ({ lastAgentAction }: Pick<CardDetail, 'lastAgentAction'>): string | undefined =>
  lastAgentAction?.type === landedAction ? (lastAgentAction.detail ?? undefined) : undefined
