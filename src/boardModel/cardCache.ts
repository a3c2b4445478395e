import type { LiveMessage } from '../client/socket.ts'
import type { EventData } from '../contract/server/events.ts'
import type { Contract } from '../contract/index.ts'
import type { Output } from '../contract/route.ts'

export type Card = Output<Contract['cards']['list']>[number]
export type CardDetail = Output<Contract['cards']['get']>
type AnyDetail = CardDetail & EventData<'card.moved'> & EventData<'card.assigned'>
export type Column = Output<Contract['columns']['list']>[number]

/**
 * A column with the IDs of its first cards in order. The first `read` IDs are certain. The others are from before the
 * connection was interrupted and are read again. `isWhole`: there are no other cards.
 */
export interface CachedColumn {
  id: string
  name: string
  columnType: Column['columnType']
  /** The maximum number of cards. Null if unlimited. */
  wipLimit: number | null
  /** Whether the column pulls cards automatically. */
  pull: boolean
  ids: readonly string[]
  read: number
  total: number
  isWhole: boolean
  /** The number of consecutive pages that did not fit. */ misfits: number
}

/** One board's cards, as last received from the server. */
export interface CardCache {
  columns: readonly CachedColumn[]
  cards: ReadonlyMap<string, Card>
}

export const emptyCache: CardCache = { columns: [], cards: new Map() }

/** Replaces a board's columns and keeps their known cards. */
export function withColumns(cache: CardCache, columns: readonly Column[]): CardCache {
  const known = new Map(cache.columns.map(column => [column.id, column]))
  return {
    ...cache,
    columns: [...columns]
      .sort((a, b) => a.position - b.position)
      .map(({ id, name, columnType, wipLimit, pull, cardCount }) => {
        const { ids = [], read = 0, isWhole = false, misfits = 0 } = known.get(id) ?? {}
        const total = isWhole ? ids.length : cardCount
        return { id, name, columnType, wipLimit, pull, ids, read, total, isWhole, misfits }
      }),
  }
}

/** Marks the cache to be read again from the beginning. The known content is shown until then. */
export const asStale = (cache: CardCache): CardCache => ({
  ...cache,
  columns: cache.columns.map(column => ({ ...column, read: 0, isWhole: false })),
})

/** A page of a column's cards that was read from `offset` on, as the response to a numbered request. */
export interface Page {
  request: number
  columnId: string
  offset: number
  limit: number
  cards: readonly Card[]
}

/**
 * Adds a page that continues where the column ended at the time of the request. If the page no longer fits, because cards before
 * it were added or removed, the next one is tried, and after a few such pages the whole column is read again.
 */
export function withPage(cache: CardCache, page: Page): CardCache {
  const column = cache.columns.find(({ id }) => id === page.columnId)
  if (!column) return cache
  const put = (changed: CachedColumn) => cache.columns.map(each => (each === column ? changed : each))
  // A page begins with the last known card, so that a shift is detected.
  if (page.offset > 0 && page.cards[0]?.id !== column.ids[page.offset])
    return {
      ...cache,
      columns: put({ ...column, misfits: column.misfits + 1, read: column.misfits < maxMisfits ? column.read : 0 }),
    }
  const cards = new Map(cache.cards)
  const read = new Set(page.cards.map(({ id }) => id))
  const sure = [...column.ids.slice(0, page.offset).filter(id => !read.has(id)), ...read]
  const isWhole = page.cards.length < page.limit
  const others = column.ids.slice(page.offset).filter(id => !read.has(id))
  if (isWhole) for (const id of others) cards.delete(id)
  for (const card of page.cards) cards.set(card.id, card)
  const ids = isWhole ? sure : [...sure, ...others]
  const filled = {
    ...column,
    ids,
    read: sure.length,
    isWhole,
    misfits: 0,
    total: isWhole ? ids.length : Math.max(column.total, ids.length),
  }
  return { columns: put(filled).map(each => (each === filled ? filled : without(each, read))), cards }
}

const maxMisfits = 5

function without(column: CachedColumn, gone: ReadonlySet<string>): CachedColumn {
  const ids = column.ids.filter(id => !gone.has(id))
  const lost = column.ids.length - ids.length
  return lost === 0 ? column : { ...column, ids, read: Math.min(column.read, ids.length), total: column.total - lost }
}

/** Applies the events about cards, in order. */
export function withEvents(cache: CardCache, events: readonly LiveMessage[]): CardCache {
  const draft = new Draft(cache)
  for (const { type, data } of events) {
    if (type === 'card.deleted')
      draft.remove((data as EventData<'card.deleted'>).id, (data as EventData<'card.deleted'>).columnId)
    else if (type === 'card.viewed') draft.read((data as { id: string }).id)
    else if (type === 'attachment.created' || type === 'attachment.deleted')
      draft.attach(data as EventData<'attachment.deleted'>)
    else if (type.startsWith('comment.')) draft.comment(data as EventData<'comment.deleted'>)
    else if (type.startsWith('card.')) draft.take(data as CardDetail & Partial<EventData<'card.moved'>>, type)
  }
  return draft.done()
}

/** Events that change the position of a card. */
const placing: ReadonlySet<string> = new Set([
  'card.created',
  'card.moved',
  'card.archived',
  'card.unarchived',
  'card.restored',
])

/** A cache during a change. Each changed part is copied once. */
class Draft {
  readonly #cache: CardCache
  #cards: Map<string, Card> | undefined
  readonly #columns = new Map<string, CachedColumn & { ids: string[] }>()

  constructor(cache: CardCache) {
    this.#cache = cache
  }

  done(): CardCache {
    if (!this.#cards && this.#columns.size === 0) return this.#cache
    return {
      columns: this.#cache.columns.map(column => this.#columns.get(column.id) ?? column),
      cards: this.#cards ?? this.#cache.cards,
    }
  }

  /** Applies the current state of a card. Older versions are ignored. */
  take(detail: CardDetail & Partial<EventData<'card.moved'>>, type: string): void {
    const card = itemOf(detail)
    const known = this.#cardsNow.get(card.id)
    if (known && known.version > card.version) return
    const isPlaced = placing.has(type) && known?.version !== card.version
    if (isPlaced) {
      const from =
        type === 'card.archived'
          ? card.columnId
          : detail.from && detail.from.position !== null
            ? detail.from.columnId
            : undefined
      if (from !== undefined) this.#takeOut(card.id, from)
      if (card.position !== null) this.#putIn(card, card.position)
    }
    const isShown = isPlaced
      ? this.#columnNow(card.columnId)?.ids.includes(card.id) === true && card.position !== null
      : known !== undefined
    if (isShown) this.#changed().set(card.id, card)
    else if (known) this.#changed().delete(card.id)
  }

  remove(id: string, columnId: string): void {
    this.#takeOut(id, columnId)
    if (this.#cardsNow.has(id)) this.#changed().delete(id)
  }

  read(id: string): void {
    const card = this.#cardsNow.get(id)
    if (card?.unread) this.#changed().set(id, { ...card, unread: false })
  }

  attach({ cardId, attachmentCount }: EventData<'attachment.deleted'>): void {
    const card = this.#cardsNow.get(cardId)
    if (card && card.attachmentCount !== attachmentCount) this.#changed().set(cardId, { ...card, attachmentCount })
  }

  comment({ cardId, commentCount }: EventData<'comment.deleted'>): void {
    const card = this.#cardsNow.get(cardId)
    if (card && card.commentCount !== commentCount) this.#changed().set(cardId, { ...card, commentCount })
  }

  #takeOut(id: string, columnId: string): void {
    const column = this.#open(columnId)
    if (!column) return
    const at = column.ids.indexOf(id)
    if (at >= 0) column.ids.splice(at, 1)
    if (at >= 0 && at < column.read) column.read--
    if (at >= 0 || !column.isWhole) column.total = Math.max(column.ids.length, column.total - 1)
  }

  #putIn(card: Card, position: number): void {
    const column = this.#open(card.columnId)
    if (!column || column.ids.includes(card.id)) return
    if (position < column.ids.length || column.isWhole) column.ids.splice(position, 0, card.id)
    if (position < column.read || column.isWhole) column.read++
    column.total++
  }

  #changed(): Map<string, Card> {
    return (this.#cards ??= new Map(this.#cache.cards))
  }

  get #cardsNow(): ReadonlyMap<string, Card> {
    return this.#cards ?? this.#cache.cards
  }

  #columnNow(id: string): CachedColumn | undefined {
    return this.#columns.get(id) ?? this.#cache.columns.find(column => column.id === id)
  }

  #open(id: string): (CachedColumn & { ids: string[] }) | undefined {
    const open = this.#columns.get(id)
    if (open) return open
    const column = this.#columnNow(id)
    if (!column) return undefined
    const copy = { ...column, ids: [...column.ids] }
    this.#columns.set(id, copy)
    return copy
  }
}

/** The fields of a card that lists and the cache leave out. */
const detailFields: Readonly<Record<Exclude<keyof AnyDetail, keyof Card>, true>> = {
  assignedIds: true,
  base: true,
  baseCardId: true,
  blockedBy: true,
  blocks: true,
  by: true,
  columnType: true,
  command: true,
  discoveredFromId: true,
  effort: true,
  endedAt: true,
  from: true,
  gitBranch: true,
  lastAgentAction: true,
  locks: true,
  mode: true,
  model: true,
  profile: true,
  prompt: true,
  pullable: true,
  sessions: true,
  source: true,
  startedAt: true,
  to: true,
  useWorktree: true,
  watcherIds: true,
  watching: true,
  worktreePath: true,
}
const itemOf = (card: CardDetail): Card =>
  Object.fromEntries(Object.entries(card).filter(([name]) => !Object.hasOwn(detailFields, name))) as Card
