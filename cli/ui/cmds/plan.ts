import type { Client } from '../../../src/client/index.ts'
import type { CardPlace } from '../../cards/cardApi.ts'
import { changeFromPresent } from '../../cards/changeFromPresent.ts'
import { dayEnd } from '../../parsing/arguments.ts'
import type { Msg, PlanStep } from '../state/model.ts'

/** Changes one field of a card's plan. Its other assignees on the server are unchanged. */
export async function changePlan(client: Client, place: CardPlace, step: PlanStep): Promise<Msg> {
  const said = (text: string): Msg => ({ type: 'said', text: `Card ${place.cardId} ${text}.` })
  switch (step.field) {
    case 'priority':
      await client.cards.update({ ...place, priority: step.value })
      return said(`has the priority ${step.value}`)
    case 'due':
      await client.cards.update({ ...place, dueAt: step.value === 'none' ? null : dayEnd(step.value) })
      return said(step.value === 'none' ? 'has no due date' : `is due ${step.value}`)
    case 'estimate':
      await client.cards.update({ ...place, estimate: step.value })
      return said(step.value === null ? 'has no estimate' : `has the estimate ${step.value}`)
    case 'assignee':
      await changeFromPresent(client, place, ({ assignees }) => {
        const ids = assignees.flatMap(each => ('userId' in each ? each.userId : []))
        if (ids.includes(step.userId) === step.isOn) return undefined
        return { assigneeIds: step.isOn ? [...ids, step.userId] : ids.filter(id => id !== step.userId) }
      })
      return said(`is ${step.isOn ? '' : 'no longer '}assigned to ${step.name}`)
  }
}
