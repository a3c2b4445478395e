import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { unreadCard, type OpenedCard } from '../../../src/boardModel/openedCard.ts'

export const tabs = ['prompt', 'transcript', 'diff', 'comments'] as const
export type Tab = (typeof tabs)[number]
export type Comment = Output<Contract['comments']['list']>['items'][number]

/** An opened card and its view. */
export interface Opened extends OpenedCard {
  tab: Tab
  /** The first visible line of each tab. */
  tops: Readonly<Record<Tab, number>>
  /** Whether the transcript scrolls along with new messages. */
  follows: boolean
  /** The entries, newest first, or the error if they could not be read. */
  comments?: readonly Comment[] | string
  areCommentsStale: boolean
}

export const openedOf = (cardId: string, tab: Tab): Opened => ({
  ...unreadCard(cardId),
  tab,
  // The newest comments are at the end.
  tops: { prompt: 0, transcript: 0, diff: 0, comments: Infinity },
  follows: true,
  areCommentsStale: true,
})
