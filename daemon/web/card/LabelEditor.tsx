import { useState } from 'react'
import { useLoad } from '../app/load.ts'
import { showError } from '../app/messages.ts'
import { client } from '../app/session.ts'
import { Button } from '../ui/Button.tsx'
import { Combobox, type PickerState } from '../ui/Combobox.tsx'
import { useCanWork } from './canWork.ts'
import { useCard, useOpened } from './openedCard.ts'
import { toggleValue } from './toggleValue.ts'
import { tintOf } from '../ui/tint.ts'

/** Adds and removes labels of a card. */
export function LabelEditor() {
  const opened = useOpened()
  const { id: cardId, labels } = useCard()
  const canWork = useCanWork(opened.projectId)
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
        <LabelPicker
          projectId={opened.projectId}
          marked={labels}
          onChange={label => void change(toggleValue(labels, label)).catch(showError)}
        >
          Add label…
        </LabelPicker>
      )}
    </div>
  )
}

interface LabelPickerProps extends PickerState {
  projectId: string
  onChange: (label: string) => void
}

/** A searchable list of the labels of a project, which also offers the typed text as a new label. */
export function LabelPicker({ projectId, isOpenAtFirst = false, ...rest }: LabelPickerProps) {
  const [isOpened, setOpened] = useState(isOpenAtFirst)
  const known = useLoad(() => (isOpened ? recentLabels(projectId) : Promise.resolve([])), [isOpened])
  return (
    <Combobox
      label="Add label"
      options={known.value?.map(label => [label, label])}
      newOption={label => `New label: ${label}`}
      maxLength={100}
      isOpenAtFirst={isOpenAtFirst}
      onOpen={() => setOpened(true)}
      {...rest}
    />
  )
}

/** The labels of the newest cards of a project. */
async function recentLabels(projectId: string): Promise<string[]> {
  const cards = await client.cards.list({ projectId, limit: 200 })
  return [...new Set(cards.flatMap(({ labels }) => labels))].sort()
}
