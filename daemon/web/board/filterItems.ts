import { choiceNames, choiceValues, planFields } from '../../../src/contract/cards/planFields.ts'
import { assigneeNames } from '../../../src/boardModel/plan.ts'
import type { MenuItem } from '../ui/Menu.tsx'
import type { BoardSession } from './boardSession.ts'

type Kind = [label: string, names: readonly string[], sign: string]
const sorted = (names: readonly (string | null | undefined)[]): string[] =>
  [...new Set(names)].filter(name => !!name).sort() as string[]
const dueLabels: Record<string, string> = { due: 'With a due date', overdue: 'Overdue' }

/** Returns filter choices from the loaded cards. A choice adds its words to the filter, or removes them. */
export function filterItems(session: BoardSession): MenuItem[] {
  const { cache, filter } = session.state.get()
  const activities = session.agentActivities.state.get()
  const cards = [...cache.cards.values()]
  const kinds: Kind[] = [
    ['Status', sorted(cards.map(({ status }) => status)), ''],
    ['Label', sorted(cards.flatMap(({ labels }) => labels)), ''],
    ['Agent', sorted(cards.flatMap(({ id, agent }) => [agent, activities.get(id)?.agent])), ''],
    ['Person', sorted(cards.flatMap(card => [card.creatorName, ...assigneeNames(card)])), '@'],
    ...choiceNames.map((name): Kind => {
      const { label, sign } = planFields[name]
      return [label, choiceValues(name).filter(value => cards.some(card => card[name] === value)), sign]
    }),
    ['', cards.some(({ dueAt }) => dueAt !== null) ? ['due', 'overdue'] : [], '!'],
  ]
  const items = kinds.flatMap(([kind, names, sign]) =>
    names.map((name, at): MenuItem => {
      const words = `${sign}${name} `
      const isOn = ` ${filter} `.includes(` ${words}`)
      const next = isOn ? `${filter} `.replace(words, '') : `${filter} ${words}`
      return {
        label: kind === '' ? dueLabels[name]! : `${kind} ${name}`,
        separator: at === 0 && (kind !== 'Status' || filter !== ''),
        isOn,
        run: () => session.set(state => ({ ...state, filter: next.trim() })),
      }
    }),
  )
  return filter === ''
    ? items
    : [{ label: 'Show all', run: () => session.set(state => ({ ...state, filter: '' })) }, ...items]
}
