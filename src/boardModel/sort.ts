import { choiceNames, mapChoices, planFields, planWord, type ChoiceName } from '../contract/cards/planFields.ts'
import type { CardStatus } from '../contract/fields.ts'
import type { Card } from './cardCache.ts'
import { assigneeNames } from './plan.ts'

/** The orders in which cards are shown; `board` is the server's order. */
export type Sort =
  | 'board'
  | 'changed'
  | 'status'
  | 'title'
  | ChoiceName
  | 'due'
  | 'number'
  | 'assignee'
  | 'label'
  | 'agent'
/** The orders that a key or a menu offers. A table also offers the others. */
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
/** Compares texts for people: without case, and numbers by their value. */
export const compareTexts = (a: string, b: string): number =>
  (collator ??= new Intl.Collator(undefined, { numeric: true })).compare(a, b)

/** Card ID -> its agent, if known from a session. */
export type AgentsOfCards = ReadonlyMap<string, { agent: string | null }>
type SortValue = number | string | undefined

/** The value of a card by which an order sorts. Cards without one are last. */
const sortValues: Record<Exclude<Sort, 'board'>, (card: Card, agents?: AgentsOfCards) => SortValue> = {
  ...mapChoices(name => (card: Card) => -rank(card, name)),
  due: ({ dueAt }) => (dueAt === null ? undefined : Date.parse(dueAt)),
  changed: ({ updatedAt }) => -Date.parse(updatedAt),
  status: ({ status }) => urgency[status],
  title: ({ title }) => title,
  number: ({ id }) => Number(id),
  assignee: card => assigneeNames(card).join() || undefined,
  label: ({ labels }) => labels.join() || undefined,
  agent: ({ id, agent }, agents) => agents?.get(id)?.agent ?? agent ?? undefined,
}

interface SortOptions {
  isReversed?: boolean
  agents?: AgentsOfCards
}

/** Sorts cards. Equal cards stay in the board's order. */
export function sortCards(
  ids: readonly string[],
  cards: ReadonlyMap<string, Card>,
  sort: Sort,
  { isReversed = false, agents }: SortOptions = {},
): readonly string[] {
  if (sort === 'board') return ids
  const valueOf = sortValues[sort]
  const direction = isReversed ? -1 : 1
  return ids
    .flatMap(id => {
      const card = cards.get(id)
      return card ? { id, value: valueOf(card, agents) } : []
    })
    .sort(({ value: a }, { value: b }) => {
      if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined)
      return direction * (typeof a === 'number' ? a - (b as number) : compareTexts(a, b as string))
    })
    .map(({ id }) => id)
}

/** Parses an order as an address writes it: `title`, or `-title` if it is reversed. */
export function parseSort(text = ''): { sort: Sort; isReversed: boolean } {
  const isReversed = text.startsWith('-')
  const name = isReversed ? text.slice(1) : text
  return Object.hasOwn(sortNames, name) ? { sort: name as Sort, isReversed } : { sort: 'board', isReversed: false }
}

/** How the title bar and messages name an order. */
export const sortNames: Record<Sort, string> = {
  board: 'in the order of the board',
  ...mapChoices(name => `highest ${planWord(name)} first`),
  due: 'by due date',
  changed: 'latest changed first',
  status: 'by status',
  title: 'by title',
  number: 'by number',
  assignee: 'by assignee',
  label: 'by label',
  agent: 'by agent',
}
