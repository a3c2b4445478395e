import { choiceNames, choiceValues, type ChoiceName } from '../contract/cards/planFields.ts'
import { valuesOf } from './boardFilter.ts'
import type { Card } from './cardCache.ts'
import { compareTexts, type AgentsOfCards } from './sort.ts'

/** The properties by which a board and a table group cards. */
export type Grouping = 'assignee' | ChoiceName | 'label' | 'parent' | 'agent'
export const groupings: readonly Grouping[] = ['assignee', ...choiceNames, 'label', 'parent', 'agent']

/** The cards with the same values of a property. A card with several labels is only in the group of this combination. */
export interface CardGroup {
  /** Unique among the groups of a property. */
  key: string
  /** Empty for the cards without a value. */
  values: readonly string[]
  ids: string[]
}

/** Groups cards. A choice has its highest value first, other values are in alphabetical order, and cards without one are last. */
export function groupCards(
  ids: readonly string[],
  cards: ReadonlyMap<string, Card>,
  grouping: Grouping,
  agents?: AgentsOfCards,
): CardGroup[] {
  const groups = new Map<string, CardGroup>()
  for (const id of ids) {
    const card = cards.get(id)
    if (!card) continue
    const values = groupValues(card, grouping, agents)
    const key = values.join('\n')
    const group = groups.get(key)
    if (group) group.ids.push(id)
    else groups.set(key, { key, values, ids: [id] })
  }
  const choice = choiceNames.find(name => name === grouping)
  const order: readonly string[] | undefined = choice && choiceValues(choice)
  return [...groups.values()].sort((a, b) => {
    if (a.key === '' || b.key === '') return Number(a.key === '') - Number(b.key === '')
    return order ? order.indexOf(a.key) - order.indexOf(b.key) : compareTexts(a.key, b.key)
  })
}

function groupValues(card: Card, grouping: Grouping, agents: AgentsOfCards | undefined): readonly string[] {
  if (grouping === 'parent') return card.parentId === null ? [] : [card.parentId]
  // The column type matters only for due dates.
  const values = valuesOf[grouping](card, { agent: agents?.get(card.id)?.agent, columnType: 'backlog' })
  return values.length < 2 ? values : values.toSorted(compareTexts)
}
