import { parseFilter, toggleCondition } from '../../../src/boardModel/boardFilter.ts'
import type { Sort } from '../../../src/boardModel/sort.ts'
import { mapChoices, planFields } from '../../../src/contract/cards/planFields.ts'
import { useStore } from '../app/store.ts'
import { Button } from '../ui/Button.tsx'
import type { BoardSession } from './boardSession.ts'
import { groupLabels } from './boardView.ts'
import { conditionText } from './filterOptions.ts'

export const sortLabels: Record<Sort, string> = {
  board: 'Board order',
  changed: 'Latest change',
  status: 'Status',
  title: 'Title',
  ...mapChoices(name => planFields[name].label),
  due: 'Due date',
  number: 'Number',
  assignee: 'Assignee',
  label: 'Labels',
  agent: 'Agent',
}

/** The conditions of the filter, the order and the grouping as chips, each with a button that removes it. */
export function FilterChips({ session }: { session: BoardSession }) {
  const filter = useStore(session.state, state => state.filter)
  const { sort, isReversed, group } = useStore(session.state)
  const { conditions } = parseFilter(filter)
  if (conditions.length === 0 && sort === 'board' && !group) return null
  const set = (next: string) => session.set(state => ({ ...state, filter: next }))
  const chips = conditions.map(condition => ({
    text: conditionText(condition),
    label: `Remove filter ${conditionText(condition)}`,
    remove: () => set(toggleCondition(filter, condition)),
  }))
  if (sort !== 'board')
    chips.push({
      text: `Sorted by ${sortLabels[sort].toLowerCase()}${isReversed ? ', reversed' : ''}`,
      label: 'Show the board order',
      remove: () => session.set(state => ({ ...state, sort: 'board', isReversed: false })),
    })
  if (group)
    chips.push({
      text: `Grouped by ${groupLabels[group].toLowerCase()}`,
      label: 'Remove the groups',
      remove: () => session.set(state => ({ ...state, group: undefined })),
    })
  return (
    <ul className="tools filter-chips" aria-label="Filters, order and groups">
      {chips.map(({ text, label, remove }) => (
        <li key={text} className="chip">
          {text}
          <Button isPlain icon="close" label={label} onClick={remove} />
        </li>
      ))}
      {conditions.length > 0 && (
        <li>
          <Button isPlain onClick={() => set('')}>
            Clear filters
          </Button>
        </li>
      )}
    </ul>
  )
}
