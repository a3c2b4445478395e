import { useState } from 'react'
import { useLoad } from '../app/load.ts'
import { showError } from '../app/messages.ts'
import { client } from '../app/session.ts'
import { Button } from '../ui/Button.tsx'
import { Combobox } from '../ui/Combobox.tsx'
import { useCanWork } from './canWork.ts'
import { useCard, useOpened } from './openedCard.ts'
import { tintOf } from '../ui/tint.ts'

/** Adds and removes labels of a card. */
export function LabelEditor() {
  const opened = useOpened()
  const { id: cardId, labels } = useCard()
  const canWork = useCanWork(opened.projectId)
  const [isAdding, setAdding] = useState(false)
  const known = useLoad(() => (isAdding ? recentLabels(opened.projectId) : Promise.resolve([])), [isAdding])
  const change = async (next: readonly string[]) =>
    opened.setCard(await client.cards.update({ projectId: opened.projectId, cardId, labels: [...next] }))
  return (
    <div className="assignees">
      {labels.map(label => (
        <span key={label} className="label editable tinted" style={tintOf(label)}>
          <span>{label}</span>
          {canWork && (
            <Button
              isPlain
              icon="close"
              label={`Remove ${label}`}
              onClick={() => change(labels.filter(each => each !== label))}
            />
          )}
        </span>
      ))}
      {canWork && (
        <Combobox
          label="Add label"
          options={known.value?.filter(label => !labels.includes(label)).map(label => [label, label])}
          newOption={label => (labels.includes(label) ? undefined : `New label: ${label}`)}
          maxLength={100}
          onOpen={() => setAdding(true)}
          onChange={label => void change([...labels, label]).catch(showError)}
        >
          Add label…
        </Combobox>
      )}
    </div>
  )
}

/** The labels of the newest cards of a project. */
async function recentLabels(projectId: string): Promise<string[]> {
  const cards = await client.cards.list({ projectId, limit: 200 })
  return [...new Set(cards.flatMap(({ labels }) => labels))].sort()
}
