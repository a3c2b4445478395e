import type { CardStatus } from '../../src/contract/fields.ts'
import { retryOnRateLimit } from '../requests/retryOnRateLimit.ts'
import type { Context } from '../context/context.ts'
import { listColumns } from '../context/resolve.ts'
import { fromExternal, withColumnNames, type Card } from './cardApi.ts'
import type { PlanFilter } from './planOptions.ts'

export interface CardFilter extends PlanFilter {
  boardId?: string
  columnId?: string
  status?: CardStatus
  label?: string
  search?: string
  archived?: boolean
  /** Lists only cards that could start now, in the order in which they should start. */
  ready?: boolean
  /** Lists only cards that wait for other cards. */
  blocked?: boolean
}
/** Selects cards. `withColumns` adds the names and types of their columns if the route omits them. */
export interface CardQuery {
  projectId: string
  filter?: CardFilter
  limit: number
  withColumns?: boolean
}
export interface CardPage {
  cards: Card[]
  more: boolean
}
/**
 * Lists at most `limit` cards in the order of the board: by board, column and place. Archived cards have no place and are
 * listed by ID. With other filters than the column, or with an API key, the server lists a column's cards by ID, and the
 * received cards are sorted here.
 */
export async function listCards(
  context: Context,
  { withColumns = false, ...query }: CardQuery,
  onPage?: (count: number) => void,
): Promise<CardPage> {
  const listing = readCards(context, query, onPage)
  if (!withColumns) return listing
  const cards = await withColumnNames(
    context,
    query.projectId,
    listing.then(page => page.cards),
  )
  return { ...(await listing), cards }
}

async function readCards(
  context: Context,
  { projectId, filter = {}, limit }: CardQuery,
  onPage?: (count: number) => void,
): Promise<CardPage> {
  const cards: Card[] = []
  for (const part of await splitByColumn(context, projectId, filter)) {
    if (cards.length > limit) break
    const inColumn: Card[] = []
    const wanted = limit + 1 - cards.length
    const source = isExternalFilter(context, part) ? externalPages : internalPages
    for await (const page of source(context, projectId, part, wanted)) {
      inColumn.push(...page)
      onPage?.(Math.min(limit, cards.length + inColumn.length))
      if (inColumn.length >= wanted) break
    }
    if (part.columnId !== undefined && !isOrdered(part)) inColumn.sort((a, b) => (a.position ?? 0) - (b.position ?? 0))
    cards.push(...inColumn)
  }
  return { cards: cards.slice(0, limit), more: cards.length > limit }
}

/** Whether the server returns the cards in the order in which they are shown. */
const isOrdered = ({ ready, sort }: CardFilter): boolean => ready === true || sort !== undefined

/** Returns the filter once per column that can hold matching cards. Skips empty columns. */
async function splitByColumn(context: Context, projectId: string, filter: CardFilter): Promise<CardFilter[]> {
  if (filter.archived || isOrdered(filter) || filter.columnId !== undefined) return [filter]
  const { boardId, ...others } = filter
  const columns = await listColumns(context, projectId, boardId)
  return columns.filter(({ cardCount }) => cardCount > 0).map(({ id }) => ({ ...others, columnId: id }))
}

/** External lists do not support boards, search or sorting. A key that can read cards can use the internal list for those. */
const isExternalFilter = (
  { external }: Context,
  { boardId, search, archived, ready, blocked, sort }: CardFilter,
): boolean => external && [boardId, search, sort].every(each => each === undefined) && !archived && !ready && !blocked

/** The route paginates sorted lists, ready lists and single columns by `offset`, and all other lists by `cursor`. */
async function* internalPages(
  { client }: Context,
  projectId: string,
  filter: CardFilter,
  wanted: number,
): AsyncGenerator<Card[]> {
  const limit = Math.min(1000, wanted)
  const { columnId, ...others } = filter
  const inPlaces =
    isOrdered(filter) || (columnId !== undefined && Object.values(others).every(value => value === undefined))
  for (let offset = 0, cursor = '0'; ;) {
    const page = await retryOnRateLimit(() =>
      client.cards.list({ projectId, ...filter, ...(inPlaces ? { offset } : { cursor }), limit }),
    )
    yield page
    if (page.length < limit) return
    offset += page.length
    cursor = page.at(-1)!.id
  }
}

async function* externalPages(
  { client }: Context,
  projectId: string,
  filter: CardFilter,
  wanted: number,
): AsyncGenerator<Card[]> {
  const limit = Math.min(100, wanted)
  let cursor: number | undefined
  do {
    const { items, nextCursor } = await retryOnRateLimit(() =>
      client.external.list({ projectId, ...filter, limit, cursor }),
    )
    yield items.map(fromExternal)
    cursor = nextCursor ?? undefined
  } while (cursor !== undefined)
}
