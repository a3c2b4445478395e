import { useEffect, useRef } from 'react'
import { Button } from '../ui/Button.tsx'
import { useCanWork } from './canWork.ts'
import { Conflict } from './Conflict.tsx'
import { useEdited } from './useEdited.ts'
import { useOpened } from './openedCard.ts'

/** The card's title, edited in place: Enter keeps it, Escape leaves it. */
export function CardTitle({ isPage }: { isPage: boolean }) {
  const edited = useEdited('title')
  const canWork = useCanWork(useOpened().projectId)
  const button = useRef<HTMLDivElement>(null)
  const wasEditing = useRef(edited.isEditing)
  useEffect(() => {
    // Return the focus to the element that had it.
    if (wasEditing.current && !edited.isEditing) button.current?.querySelector('button')?.focus()
    wasEditing.current = edited.isEditing
  }, [edited.isEditing])
  const Head = isPage ? 'h1' : 'h2'
  if (edited.isEditing)
    return (
      <div className="title-editor">
        <input
          aria-label="Title"
          autoFocus
          maxLength={500}
          value={edited.text}
          onChange={({ target }) => edited.setText(target.value)}
          onKeyDown={event => {
            if (event.nativeEvent.isComposing) return
            if (event.key === 'Enter') void edited.save()
            if (event.key !== 'Escape') return
            event.stopPropagation()
            edited.end()
          }}
        />
        <div className="buttons">
          <Button onClick={edited.end}>Cancel</Button>
          <Button isMain disabled={edited.theirs !== undefined || edited.text.trim() === ''} onClick={edited.save}>
            Save
          </Button>
        </div>
        <Conflict edited={edited} />
      </div>
    )
  return (
    <div className="opened-title" ref={button}>
      <Head onDoubleClick={canWork ? edited.begin : undefined}>{edited.now}</Head>
      {canWork && <Button isPlain icon="edit" label="Edit title" onClick={edited.begin} />}
    </div>
  )
}
