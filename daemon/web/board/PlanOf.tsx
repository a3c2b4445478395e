import { useState } from 'react'
import type { Card } from '../../../src/boardModel/cardCache.ts'
import { cardsText } from '../../../src/boardModel/changes.ts'
import { endOfDay } from '../../../src/boardModel/plan.ts'
import { choiceNames, planFields, type ChoiceName } from '../../../src/contract/cards/planFields.ts'
import { useLoad } from '../app/load.ts'
import { announce } from '../app/messages.ts'
import { client } from '../app/session.ts'
import type { PlanChange } from '../card/Assignees.tsx'
import { choiceOptions } from '../card/choiceOptions.ts'
import { FormDialog } from '../ui/FormDialog.tsx'
import { Choice, TextInput } from '../ui/Inputs.tsx'

const keep = ['', 'Unchanged'] as const
const dueOptions = [keep, ['day', 'On a date'], ['none', 'None']] as const

interface PlanOfProps {
  projectId: string
  cards: readonly Card[]
  onClose: () => void
}

/** Changes a part of the plan of several cards. The rest of each plan stays. */
export function PlanOf({ projectId, cards, onClose }: PlanOfProps) {
  const [choices, setChoices] = useState<{ [Name in ChoiceName]?: string }>({})
  const [due, setDue] = useState<(typeof dueOptions)[number][0]>('')
  const [day, setDay] = useState('')
  const [assignee, setAssignee] = useState('')
  const { value: people = [] } = useLoad(() => client.members.people({ projectId }), [projectId])
  const save = async () => {
    const chosen = Object.fromEntries(Object.entries(choices).filter(([, value]) => value !== '')) as PlanChange
    const change: PlanChange = {
      ...chosen,
      ...(due !== '' && { dueAt: due === 'none' ? null : endOfDay(day) }),
    }
    if (Object.keys(change).length > 0 || assignee !== '')
      for (const { id: cardId } of cards) await changePlan({ projectId, cardId }, change, assignee)
    announce(`Changed the plan of ${cardsText(cards)}`)
    onClose()
  }
  return (
    <FormDialog title={`Plan of ${cardsText(cards)}`} submit="Save" onSubmit={save} onClose={onClose}>
      {choiceNames.map(name => (
        <Choice<string>
          key={name}
          label={planFields[name].label}
          field={name}
          options={[keep, ...choiceOptions(name)]}
          value={choices[name] ?? ''}
          onChange={value => setChoices({ ...choices, [name]: value })}
        />
      ))}
      <Choice label={planFields.dueAt.label} field="dueAt" options={dueOptions} value={due} onChange={setDue} />
      {due === 'day' && <TextInput label="Date" type="date" required value={day} onChange={setDay} />}
      {people.length > 0 && (
        <Choice
          isSearched
          label="Also assign to"
          options={[['', 'No one'], ...people.map(({ userId, displayName }) => [userId, displayName] as const)]}
          value={assignee}
          onChange={setAssignee}
        />
      )}
    </FormDialog>
  )
}

/** @param assignee the account to add to the assignees, or empty */
async function changePlan(
  ref: { projectId: string; cardId: string },
  change: PlanChange,
  assignee: string,
): Promise<void> {
  if (assignee === '') return void (await client.cards.update({ ...ref, ...change }))
  const { assignees, version } = await client.cards.get(ref)
  const ids = assignees.flatMap(each => ('userId' in each ? [each.userId] : []))
  const assigneeIds = ids.includes(assignee) ? ids : [...ids, assignee]
  await client.cards.update({ ...ref, ...change, assigneeIds }, { ifMatch: `"${version}"` })
}
