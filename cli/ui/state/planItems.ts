import { priorities } from '../../../src/contract/cards/cardPlan.ts'
import type { Card } from '../../../src/boardModel/cardCache.ts'
import { runForEach } from './actions.ts'
import { type Model, type Msg, type PlanPurpose, type PlanStep, type Update } from './model.ts'
import type { PickItem } from './pickItem.ts'

const someDays = ['today', 'tomorrow', '7d']
const writtenDay = /^(?:due )?(\d{4}-\d\d-\d\d|\d{1,5}[hd])$/
const writtenEstimate = /^(?:estimate )?(\d{1,7}(?:\.\d{1,2})?)$/

/** Returns the choices for a plan: assignees, priorities, due dates and estimates, including a typed day or number. */
export function planItems({ cache, opened }: Model, { cardIds, people }: PlanPurpose, text: string): PickItem[] {
  const cards = cardIds.flatMap(id => cache.cards.get(id) ?? (opened?.card?.id === id ? opened.card : []))
  const marked = (has: (card: Card) => boolean): PickItem['mark'] => {
    const count = cards.filter(has).length
    return count === 0 ? 'off' : count === cards.length ? 'on' : 'some'
  }
  const [day, amount] = [writtenDay.exec(text)?.[1], writtenEstimate.exec(text)?.[1]]
  return [
    ...(day === undefined ? [] : [dueItem(day)]),
    ...(amount === undefined ? [] : [item(`estimate ${amount}`, { field: 'estimate', value: Number(amount) })]),
    ...priorities.toReversed().map((value): PickItem => ({
      ...item(`priority ${value}`, { field: 'priority', value }),
      mark: marked(({ priority }) => priority === value),
    })),
    ...people.map(({ userId, displayName }): PickItem => {
      const mark = marked(({ assignees }) => assignees.some(each => 'userId' in each && each.userId === userId))
      const step = { field: 'assignee', userId, name: displayName, isOn: mark !== 'on' } as const
      return { ...item(`assign ${displayName}`, step), mark }
    }),
    ...someDays.map(dueItem),
    item('no due date', { field: 'due', value: 'none' }),
    item('no estimate', { field: 'estimate', value: null }),
  ]
}

const item = (text: string, step: PlanStep): PickItem => ({ text, target: { type: 'plan', step } })
const dueItem = (value: string): PickItem => item(`due ${value}`, { field: 'due', value })

/** Changes the plan of the cards. */
export const planned = (model: Model, { cardIds }: PlanPurpose, step: PlanStep): Update =>
  runForEach(model, cardIds, cardId => ({ type: 'plan', cardId, step }))

/** Applies the loaded people to the list that requested them. */
export const onPeople = (model: Model, { people }: Extract<Msg, { type: 'people' }>): Model =>
  model.dialog?.kind === 'pick' && model.dialog.purpose.type === 'plan'
    ? { ...model, dialog: { ...model.dialog, purpose: { ...model.dialog.purpose, people } } }
    : model
