import type { Client } from '../../../src/client/index.ts'
import type { CardPlace } from '../../cards/cardApi.ts'
import { changeFromPresent } from '../../cards/changeFromPresent.ts'
import { planWord } from '../../../src/contract/cards/planFields.ts'
import { pickedPlan, planInputs } from '../../cards/planInputs.ts'
import type { Msg, PlanStep } from '../state/model.ts'

/** Changes one field of a card's plan. Its other assignees on the server are unchanged. */
export async function changePlan(client: Client, place: CardPlace, step: PlanStep): Promise<Msg> {
  const notice = (text: string): Msg => ({ type: 'notice', text: `Card ${place.cardId} ${text}.` })
  if (step.field === 'assignee') {
    await changeFromPresent(client, place, ({ assignees }) => {
      const ids = assignees.flatMap(each => ('userId' in each ? each.userId : []))
      if (ids.includes(step.userId) === step.isOn) return undefined
      return { assigneeIds: step.isOn ? [...ids, step.userId] : ids.filter(id => id !== step.userId) }
    })
    return notice(`is ${step.isOn ? '' : 'no longer '}assigned to ${step.name}`)
  }
  await client.cards.update({ ...place, ...pickedPlan(step.field, step.value) })
  const word = planWord(planInputs[step.field].field)
  return notice(step.value === 'none' ? `has no ${word}` : `has the ${word} ${step.value}`)
}
