import type { Card } from '../../../src/boardModel/cardCache.ts'
import { isClearable, planWord } from '../../../src/contract/cards/planFields.ts'
import { planInputs, planNames, type PlanOptions } from '../../cards/planInputs.ts'
import { runForEach } from './actions.ts'
import { type Model, type Msg, type PlanPurpose, type PlanStep, type Update } from './model.ts'
import type { PickItem } from './pickItem.ts'

/** Returns the choices for a plan: typed values, assignees, and the values of each field. */
export function planItems({ cache, opened }: Model, { cardIds, people }: PlanPurpose, text: string): PickItem[] {
  const cards = cardIds.flatMap(id => cache.cards.get(id) ?? (opened?.card?.id === id ? opened.card : []))
  const markOf = (has: (card: Card) => boolean): PickItem['mark'] => {
    const count = cards.filter(has).length
    return count === 0 ? 'off' : count === cards.length ? 'on' : 'some'
  }
  const fields = planNames.flatMap(name => {
    const { picked, choices, field } = planInputs[name]
    return picked ? [{ name, isMarked: choices !== undefined, field, word: planWord(field), ...picked }] : []
  })
  const item = (field: keyof PlanOptions, value: string, shown: string): PickItem => ({
    text: shown,
    target: { type: 'plan', step: { field, value } },
  })
  const assign = ({ userId, displayName }: PlanPurpose['people'][number]): PickItem => {
    const mark = markOf(({ assignees }) => assignees.some(each => 'userId' in each && each.userId === userId))
    const step = { field: 'assignee', userId, name: displayName, isOn: mark !== 'on' } as const
    return { text: `assign ${displayName}`, target: { type: 'plan', step }, mark }
  }
  const itemsOf = ({ name, word, values, isMarked, field }: (typeof fields)[number]): PickItem[] =>
    values.map(value => ({
      ...item(name, value, `${word} ${value}`),
      ...(isMarked && { mark: markOf(card => card[field] === value) }),
    }))
  return [
    ...fields.flatMap(({ name, word, typed }) => {
      const value = typed?.exec(text)?.[1]
      return value === undefined ? [] : [item(name, value, `${word} ${value}`)]
    }),
    ...fields.filter(({ isMarked }) => isMarked).flatMap(itemsOf),
    ...people.map(assign),
    ...fields.filter(({ isMarked }) => !isMarked).flatMap(itemsOf),
    ...fields.flatMap(({ name, field, word }) => (isClearable(field) ? [item(name, 'none', `no ${word}`)] : [])),
  ]
}

/** Changes the plan of the cards. */
export const planCards = (model: Model, { cardIds }: PlanPurpose, step: PlanStep): Update =>
  runForEach(model, cardIds, cardId => ({ type: 'plan', cardId, step }))

/** Applies the loaded people to the list that requested them. */
export const onPeople = (model: Model, { people }: Extract<Msg, { type: 'people' }>): Model =>
  model.dialog?.kind === 'pick' && model.dialog.purpose.type === 'plan'
    ? { ...model, dialog: { ...model.dialog, purpose: { ...model.dialog.purpose, people } } }
    : model
