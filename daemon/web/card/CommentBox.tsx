import { useRef, useState, type KeyboardEvent, type ReactNode } from 'react'
import { showError } from '../app/messages.ts'
import { client } from '../app/session.ts'
import type { Suggest } from '../transcript/completion.ts'
import { dropHandlers, FileButton } from '../transcript/files.tsx'
import { SuggestionList, useCompletion } from '../transcript/Suggestions.tsx'
import { Button } from '../ui/Button.tsx'
import { useCanWork } from './canWork.ts'
import { useOpened } from './openedCard.ts'

interface CommentBoxProps {
  label: string
  text: string
  onText: (text: string) => void
  submit: string
  onSubmit: () => Promise<unknown>
  onCancel?: () => void
  /** A control at the start of the row of tools. */
  choice?: ReactNode
}

/** A field to write a comment. Ctrl+Enter sends it, `@` suggests project members, and files become attachments. */
export function CommentBox({ label, text, onText, submit, onSubmit, onCancel, choice }: CommentBoxProps) {
  const { projectId, cardId } = useOpened()
  const canAttach = useCanWork(projectId)
  const area = useRef<HTMLTextAreaElement>(null)
  const [isSending, setSending] = useState(false)
  const completion = useCompletion({ projectId, area, onText, suggest: suggestPeople })
  const send = async () => {
    if (isSending || text.trim() === '') return
    setSending(true)
    await onSubmit().catch(showError)
    setSending(false)
  }
  const attach = async (files: readonly File[]) => {
    for (const file of files)
      try {
        const filename = file.name || 'pasted.png'
        const { id } = await client.attachments.create({ projectId, cardId, file: { file, filename } })
        const { value, selectionStart } = area.current!
        const link = `[${filename.replace(/[[\]]/g, '')}](attachment:${id}) `
        onText(value.slice(0, selectionStart) + link + value.slice(selectionStart))
      } catch (error) {
        showError(error)
      }
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing || completion.onKeyDown(event)) return
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) void send()
    if (event.key !== 'Escape' || !onCancel) return
    event.stopPropagation()
    onCancel()
  }
  return (
    <div className="comment-box" {...(canAttach && dropHandlers(files => void attach(files)))}>
      <SuggestionList completion={completion} />
      <textarea
        ref={area}
        aria-label={label}
        placeholder={label}
        rows={2}
        autoFocus={onCancel !== undefined}
        readOnly={isSending}
        value={text}
        {...completion.props}
        onChange={({ target }) => {
          onText(target.value)
          void completion.onTyped(target)
        }}
        onKeyDown={onKeyDown}
        onBlur={completion.close}
      />
      <div className="box-tools">
        {choice}
        {canAttach && <FileButton onFiles={files => void attach(files)} />}
        <span className="hint">
          Markdown. @ mentions a person. <span className="wide-only">Ctrl+Enter sends</span>
        </span>
        {onCancel && <Button onClick={onCancel}>Cancel</Button>}
        <Button isMain disabled={isSending || text.trim() === ''} aria-busy={isSending || undefined} onClick={send}>
          {submit}
        </Button>
      </div>
    </div>
  )
}

const maxSuggestions = 8

/** Returns the people of a project whose names match the text after the `@`. */
function suggestPeople(projectId: string): Suggest {
  let people: ReturnType<typeof client.members.people> | undefined
  return async ({ kind, word }) => {
    if (kind !== 'file') return []
    people ??= client.members.people({ projectId }).catch(() => [])
    const wanted = word.toLowerCase()
    return (await people)
      .filter(({ displayName }) => displayName.toLowerCase().includes(wanted))
      .slice(0, maxSuggestions)
      .map(({ userId, displayName }) => ({
        value: `@[${displayName.replace(/[[\]\n]/g, '')}](${userId}) `,
        shown: displayName,
        about: '',
      }))
  }
}
