import { useState } from 'react'
import { assigneeNames, planFacts } from '../../../src/boardModel/plan.ts'
import { showError } from '../app/messages.ts'
import { client } from '../app/session.ts'
import { Menu } from '../ui/Menu.tsx'
import { formatTime, Time, useNow } from '../ui/Time.tsx'
import { agentProperties, useOffers } from './agentProperties.tsx'
import { Assignees, useMyId, WatchButton, type PlanChange } from './Assignees.tsx'
import { dependencyProperties } from './dependencyProperties.tsx'
import { LabelEditor } from './LabelEditor.tsx'
import { planProperties } from './planProperties.tsx'
import { PropertyRow, type Property } from './Property.tsx'
import { useCanWork } from './canWork.ts'
import { useCard, useOpened } from './openedCard.ts'

/** The properties of a card that have a value, and a menu that adds others. */
export function Properties() {
  const { createdAt, updatedAt, kind } = useCard()
  const [added, setAdded] = useState<readonly string[]>([])
  const me = useMyId()
  const canWork = useCanWork(useOpened().projectId)
  const all = useProperties(canWork)
  const isShown = ({ isSet, label }: Property) => isSet || added.includes(label)
  const others = canWork ? all.filter(property => !isShown(property)) : []
  return (
    <>
      {all.filter(isShown).map(({ label, icon, render }) => (
        <PropertyRow key={label} label={label} icon={icon}>
          {render(added.at(-1) === label)}
        </PropertyRow>
      ))}
      <div className="tools">
        {others.length > 0 && (
          <Menu
            label="Add property"
            icon="add"
            text="Add property"
            items={others.map(({ label }) => ({ label, run: () => setAdded([...added, label]) }))}
          />
        )}
        {me !== null && kind !== 'assistant' && <WatchButton userId={me} />}
      </div>
      <p className="dim">
        Created <Time at={createdAt} />, changed <Time at={updatedAt} />
      </p>
    </>
  )
}

/** The properties in a narrow window, folded to one line that names the values. */
export function FoldedProperties() {
  const card = useCard()
  const values = [
    ...planFacts(card),
    ...(card.dueAt === null ? [] : [`due ${formatTime(card.dueAt, 'shortDay')}`]),
    ...assigneeNames(card),
  ]
  return (
    <details className="folded properties">
      <summary>
        <strong>Properties</strong> <span className="dim">{[...values, ...card.labels].join(', ')}</span>
      </summary>
      <Properties />
    </details>
  )
}

/** Returns all properties that a card of this kind can have. */
function useProperties(canWork: boolean): Property[] {
  const opened = useOpened()
  const card = useCard()
  const now = useNow()
  const offers = useOffers(opened.projectId, card)
  const place = { projectId: opened.projectId, cardId: card.id }
  const update = async (fields: PlanChange) => opened.setCard(await client.cards.update({ ...place, ...fields }))
  const change = (fields: PlanChange) => void update(fields).catch(showError)
  const labels: Property = {
    label: 'Labels',
    icon: 'label',
    isSet: card.labels.length > 0,
    render: () => <LabelEditor />,
  }
  if (card.kind === 'assistant') return [labels]
  const [priority, ...plan] = planProperties({ card, now, canWork, change })
  return [
    priority!,
    {
      label: 'Assignees',
      icon: 'person',
      isSet: card.assignees.length > 0,
      render: () => <Assignees change={canWork ? update : undefined} />,
    },
    ...(card.kind === 'kanban' ? agentProperties({ card, offers, canWork, change }) : []),
    labels,
    ...plan,
    ...dependencyProperties({ card, change: canWork ? update : undefined }),
  ]
}
