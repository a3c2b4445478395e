import type { Priority } from '../contract/cards/cardPlan.ts'
import type { CardStatus } from '../contract/fields.ts'
import type { Card } from './cardCache.ts'

/** The orders in which columns show their cards; `board` is the server's order. */
export const sorts = ['board', 'changed', 'status', 'title', 'priority', 'due'] as const
export type Sort = (typeof sorts)[number]

/** Cards that need the user come first. */
const urgency: Record<CardStatus, number> = {
  waiting: 0,
  failed: 1,
  interrupted: 2,
  running: 3,
  queued: 4,
  completed: 5,
  cancelled: 6,
  idle: 7,
}
/** Not from the contract, whose schemas would be loaded in the browser with it. */
const rank: Record<Priority, number> = { urgent: 0, high: 1, normal: 2, low: 3 }
/** Created on first use, because this takes milliseconds. */
let collator: Intl.Collator | undefined

const orders: Record<Exclude<Sort, 'board'>, (a: Card, b: Card) => number> = {
  priority: (a, b) => rank[a.priority] - rank[b.priority],
  due: (a, b) => (a.dueAt === b.dueAt ? 0 : (a.dueAt ?? '~') < (b.dueAt ?? '~') ? -1 : 1),
  changed: (a, b) => (a.updatedAt < b.updatedAt ? 1 : a.updatedAt > b.updatedAt ? -1 : 0),
  status: (a, b) => urgency[a.status] - urgency[b.status],
  title: (a, b) => (collator ??= new Intl.Collator(undefined, { numeric: true })).compare(a.title, b.title),
}

/** A column's cards in the given order. Equal cards stay in the board's order. */
export function sorted(ids: readonly string[], cards: ReadonlyMap<string, Card>, sort: Sort): readonly string[] {
  if (sort === 'board') return ids
  const order = orders[sort]
  return ids
    .flatMap(id => cards.get(id) ?? [])
    .sort(order)
    .map(({ id }) => id)
}

/** How the title bar and messages name an order. */
export const sortNames: Record<Sort, string> = {
  board: 'in the order of the board',
  priority: 'most urgent first',
  due: 'by due date',
  changed: 'latest changed first',
  status: 'by status',
  title: 'by title',
}
