import { choiceNames, mapChoices, planFields, planWord, type ChoiceName } from '../contract/cards/planFields.ts'
import type { CardStatus } from '../contract/fields.ts'
import type { Card } from './cardCache.ts'

/** The orders in which columns show their cards; `board` is the server's order. */
export type Sort = 'board' | 'changed' | 'status' | 'title' | ChoiceName | 'due'
export const sorts: readonly Sort[] = ['board', 'changed', 'status', 'title', ...choiceNames, 'due']

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
const rank = (card: Card, name: ChoiceName): number =>
  (planFields[name].values as readonly unknown[]).indexOf(card[name])
/** Created on first use, because this takes milliseconds. */
let collator: Intl.Collator | undefined

const orders: Record<Exclude<Sort, 'board'>, (a: Card, b: Card) => number> = {
  ...mapChoices(name => (a: Card, b: Card) => rank(b, name) - rank(a, name)),
  due: (a, b) => (a.dueAt === b.dueAt ? 0 : (a.dueAt ?? '~') < (b.dueAt ?? '~') ? -1 : 1),
  changed: (a, b) => (a.updatedAt < b.updatedAt ? 1 : a.updatedAt > b.updatedAt ? -1 : 0),
  status: (a, b) => urgency[a.status] - urgency[b.status],
  title: (a, b) => (collator ??= new Intl.Collator(undefined, { numeric: true })).compare(a.title, b.title),
}

/** A column's cards in the given order. Equal cards stay in the board's order. */
export function sortCards(ids: readonly string[], cards: ReadonlyMap<string, Card>, sort: Sort): readonly string[] {
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
  ...mapChoices(name => `highest ${planWord(name)} first`),
  due: 'by due date',
  changed: 'latest changed first',
  status: 'by status',
  title: 'by title',
}
