import { conditionNames, valuesOf, type Condition, type ConditionName } from '../../../src/boardModel/boardFilter.ts'
import { choiceNames, choiceValues, mapChoices, planFields } from '../../../src/contract/cards/planFields.ts'
import type { BoardSession } from './boardSession.ts'

const labels: Record<ConditionName, string> = {
  status: 'Status',
  label: 'Label',
  assignee: 'Assignee',
  creator: 'Creator',
  agent: 'Agent',
  ...mapChoices(name => planFields[name].label),
  due: 'Due date',
}
const withoutValue: Partial<Record<ConditionName, string>> = {
  label: 'No label',
  assignee: 'No assignee',
  due: 'No due date',
}
const dueLabels: Record<string, string> = { set: 'With a due date', overdue: 'Overdue' }

/** The text of a condition, such as `Label: bug`. */
export function conditionText({ name, value }: Condition): string {
  if (value === '') return withoutValue[name] ?? `No ${labels[name].toLowerCase()}`
  return name === 'due' ? (dueLabels[value] ?? value) : `${labels[name]}: ${value}`
}

/** Returns the conditions that fit the loaded cards. */
export function filterOptions(session: BoardSession): Condition[] {
  const { cache } = session.state.get()
  const activities = session.agentActivities.state.get()
  const found = new Map(conditionNames.map(name => [name, new Set<string>()]))
  for (const { id: columnId, columnType, ids } of cache.columns)
    for (const id of ids) {
      const card = cache.cards.get(id)
      if (card?.columnId !== columnId) continue
      const context = { columnType, agent: activities.get(id)?.agent }
      for (const name of conditionNames) {
        const values = valuesOf[name](card, context)
        if (values.length === 0 && name in withoutValue) found.get(name)!.add('')
        for (const value of values) found.get(name)!.add(value)
      }
    }
  return conditionNames.flatMap(name => order(name, found.get(name)!).map(value => ({ name, value })))
}

/** Returns values in alphabetical order, and those of a choice from the highest to the lowest. */
function order(name: ConditionName, values: ReadonlySet<string>): readonly string[] {
  const choice = choiceNames.find(each => each === name)
  return choice ? choiceValues(choice).filter(value => values.has(value)) : [...values].sort()
}
