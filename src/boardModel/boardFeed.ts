import type { LiveMessage } from '../client/socket.ts'
import { asStale, withColumns, withEvents, withPage, type CardCache, type Column, type Page } from './cardCache.ts'

/** A board's cards while they are loaded page by page. */
export interface BoardFeed {
  cache: CardCache
  /** A pending page: the cards at the time of its request, and the events since. */
  reading?: { request: number; before: CardCache; events: readonly LiveMessage[] }
}

const firstPage = 100
const laterPage = 1000

/**
 * The next page to request: the start of each column before the remaining cards, and the focused column first.
 * @param needed the number of requested cards of a column. All cards if undefined
 */
export function nextPage(
  { cache, reading }: BoardFeed,
  focus: string | undefined,
  needed: (columnId: string) => number = () => Infinity,
): Omit<Page, 'request' | 'cards'> | undefined {
  if (reading) return undefined
  const open = cache.columns.filter(({ id, isWhole, read }) => !isWhole && (read === 0 || read < needed(id)))
  const unread = open.filter(({ read }) => read === 0)
  const from = unread.length > 0 ? unread : open
  const next = from.find(({ id }) => id === focus) ?? from[0]
  return (
    next && {
      columnId: next.id,
      offset: Math.max(0, next.read - 1),
      limit: next.ids.length === 0 ? firstPage : laterPage,
    }
  )
}

/** Begins recording events for the requested page. */
export const withRequest = <T extends BoardFeed>(feed: T, request: number): T => ({
  ...feed,
  reading: { request, before: feed.cache, events: [] },
})

/** Merges a page into the cards at the time of its request, then replays the events since. */
export function withAnswer<T extends BoardFeed>(feed: T, page: Page): T {
  const { reading } = feed
  if (reading?.request !== page.request) return feed
  return { ...feed, reading: undefined, cache: withEvents(withPage(reading.before, page), reading.events) }
}

/** Applies events, and records them for a pending page. */
export function withFeedEvents<T extends BoardFeed>(feed: T, events: readonly LiveMessage[]): T {
  const reading = feed.reading && { ...feed.reading, events: [...feed.reading.events, ...events] }
  return { ...feed, reading, cache: withEvents(feed.cache, events) }
}

/** Applies the board's columns, also for a pending page. */
export const withBoardColumns = <T extends BoardFeed>(feed: T, columns: readonly Column[]): T => ({
  ...feed,
  cache: withColumns(feed.cache, columns),
  reading: feed.reading && { ...feed.reading, before: withColumns(feed.reading.before, columns) },
})

/** The feed after an interruption of events: everything is loaded again, and a pending page is ignored. */
export const asStaleFeed = <T extends BoardFeed>(feed: T): T => ({
  ...feed,
  reading: undefined,
  cache: asStale(feed.cache),
})

const aboutBoards = /^(board|column)\./

/** Whether boards and columns have to be read again. */
export const affectsColumns = (events: readonly LiveMessage[]): boolean =>
  events.some(({ type }) => aboutBoards.test(type))
