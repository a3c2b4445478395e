import { assigneeNames } from '../../../src/boardModel/plan.ts'
import type { MenuItem } from '../ui/Menu.tsx'
import type { BoardSession } from './boardSession.ts'

/** As people name them; not from the contract, whose schemas would come with it. */
const priorities = ['urgent', 'high', 'normal', 'low']
const dueLabels: Record<string, string> = { due: 'With a due date', overdue: 'Overdue' }

/** Returns filter choices from the loaded cards. A choice adds its words to the filter, or removes them. */
export function filterItems(session: BoardSession): MenuItem[] {
  const { cache, filter } = session.state.get()
  const doings = session.doings.state.get()
  const cards = [...cache.cards.values()]
  const kinds: [string, (string | null | undefined)[], string][] = [
    ['Status', cards.map(({ status }) => status), ''],
    ['Label', cards.flatMap(({ labels }) => labels), ''],
    ['Agent', cards.flatMap(({ id, agent }) => [agent, doings.get(id)?.agent]), ''],
    ['Person', cards.flatMap(card => [card.creatorName, ...assigneeNames(card)]), '@'],
    ['Priority', priorities.filter(each => cards.some(({ priority }) => priority === each)), '!'],
    ['', cards.some(({ dueAt }) => dueAt !== null) ? ['due', 'overdue'] : [], '!'],
  ]
  const items = kinds.flatMap(([kind, names, sign]) =>
    [...new Set(names)]
      .filter(name => !!name)
      .sort(kind === 'Priority' ? () => 0 : undefined)
      .map((name, at): MenuItem => {
        const words = `${sign}${name} `
        const isOn = ` ${filter} `.includes(` ${words}`)
        const next = isOn ? `${filter} `.replace(words, '') : `${filter} ${words}`
        return {
          label: kind === '' ? dueLabels[name!]! : `${kind} ${name}`,
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
