import { landedAction } from '../contract/cardRecords.ts'
import type { CardDetail } from './cardCache.ts'

/** What is said of a card whose work is in its base already, and whose worktree can go; undefined for others. */
export const landedWords = ({ lastAgentAction }: Pick<CardDetail, 'lastAgentAction'>): string | undefined =>
  lastAgentAction?.type === landedAction ? (lastAgentAction.detail ?? undefined) : undefined
