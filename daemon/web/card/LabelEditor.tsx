import { useState, type FormEvent } from 'react'
import { showError } from '../app/messages.ts'
import { client } from '../app/session.ts'
import { Button } from '../ui/Button.tsx'
import { Heading } from './Heading.tsx'
import { useCanWork } from './canWork.ts'
import { useCard, useOpened } from './openedCard.ts'
import { tintOf } from '../ui/tint.ts'

/** Adds and removes labels of a card. */
export function LabelEditor() {
  const opened = useOpened()
  const { id: cardId, labels } = useCard()
  const canWork = useCanWork(opened.projectId)
  const [text, setText] = useState('')
  const change = async (next: readonly string[]) =>
    opened.setCard(await client.cards.update({ projectId: opened.projectId, cardId, labels: [...next] }))
  const add = async (event: FormEvent) => {
    event.preventDefault()
    const label = text.trim()
    if (label === '') return
    await change([...new Set([...labels, label])]).then(() => setText(''), showError)
  }
  if (!canWork && labels.length === 0) return null
  return (
    <section>
      <Heading>Labels</Heading>
      <div className="label-editor">
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
          <form onSubmit={event => void add(event)}>
            <input
              aria-label="New label"
              placeholder="New label"
              maxLength={100}
              value={text}
              onChange={({ target }) => setText(target.value)}
            />
            <Button type="submit" isPlain icon="add" label="Add label" disabled={text.trim() === ''} />
          </form>
        )}
      </div>
    </section>
  )
}
