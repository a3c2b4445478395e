import { unreadCard, type OpenedCard } from '../../../src/boardModel/openedCard.ts'

export const tabs = ['prompt', 'transcript', 'diff'] as const
export type Tab = (typeof tabs)[number]

/** An opened card and its view. */
export interface Opened extends OpenedCard {
  tab: Tab
  /** The first visible line of each tab. */
  tops: Readonly<Record<Tab, number>>
  /** The transcript scrolls along with new messages. */
  follows: boolean
}

export const openedOf = (cardId: string, tab: Tab): Opened => ({
  ...unreadCard(cardId),
  tab,
  tops: { prompt: 0, transcript: 0, diff: 0 },
  follows: true,
})
