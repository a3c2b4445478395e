import { Button } from '../ui/Button.tsx'
import { Markdown } from '../ui/Markdown.tsx'
import { Heading } from './Heading.tsx'
import { useCanWork } from './canWork.ts'
import { Conflict } from './Conflict.tsx'
import { useEdited } from './useEdited.ts'
import { useOpened } from './openedCard.ts'

/** The prompt of the card's agent, as Markdown. Ctrl+Enter saves the text, Escape cancels. */
export function Prompt() {
  const edited = useEdited('prompt')
  const canWork = useCanWork(useOpened().projectId)
  return (
    <section>
      <div className="section-head">
        <Heading>Prompt</Heading>
        {canWork && !edited.isEditing && <Button isPlain icon="edit" label="Edit prompt" onClick={edited.begin} />}
      </div>
      {!edited.isEditing && edited.now.trim() === '' && (
        <p className="dim">No prompt. The agent receives the title and the prompt of the column.</p>
      )}
      {!edited.isEditing && edited.now.trim() !== '' && (
        <Markdown text={edited.now} breaks onEdit={canWork ? edited.replace : undefined} />
      )}
      {edited.isEditing && (
        <>
          <textarea
            className="prompt-editor"
            aria-label="Prompt"
            autoFocus
            rows={12}
            value={edited.text}
            onChange={({ target }) => edited.setText(target.value)}
            onKeyDown={event => {
              if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) void edited.save()
              if (event.key === 'Escape' && edited.text === edited.now) edited.end()
              if (event.key === 'Escape') event.stopPropagation()
            }}
          />
          <div className="buttons">
            <span className="hint">Markdown. Ctrl+Enter saves</span>
            <Button onClick={edited.end}>Cancel</Button>
            <Button isMain disabled={edited.theirs !== undefined} onClick={edited.save}>
              Save
            </Button>
          </div>
          <Conflict edited={edited} />
        </>
      )}
    </section>
  )
}
