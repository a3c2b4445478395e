import { useId, useLayoutEffect, useRef, useState, type KeyboardEvent, type ReactNode } from 'react'
import { showError } from '../app/messages.ts'
import type { Attachment } from '../card/openedCard.ts'
import { Button } from '../ui/Button.tsx'
import { useDraft } from '../ui/draft.ts'
import { plainText } from '../ui/plainText.ts'
import { dropHandlers, FileButton } from './files.tsx'
import { SuggestionList, useCompletion } from './Suggestions.tsx'

interface MessageBoxProps {
  projectId: string
  /** The key that stores the unsent text. */
  draftKey: string
  label: string
  /** The effect of sending a message, if it is not obvious. */
  hint?: string
  /** The agent whose commands are offered. Without it, those of all agents. */
  agent?: string | null
  onSend: (content: string, attachmentIds: string[]) => Promise<unknown>
  /** Stores a file that is sent with the message. Undefined if files cannot be attached. */
  onFile?: (file: File) => Promise<Attachment>
  /** A control at the start of the row of tools. */
  choice?: ReactNode
}

/** The message box: Enter sends, Shift+Enter inserts a line break. The text is kept until the server has received it. */
export function MessageBox({ projectId, draftKey, label, hint, agent, onSend, onFile, choice }: MessageBoxProps) {
  const [text, setText] = useDraft(`message ${draftKey}`)
  const [given, setGiven] = useState<readonly Attachment[]>([])
  const [isSending, setSending] = useState(false)
  const area = useRef<HTMLTextAreaElement>(null)
  const completion = useCompletion({ projectId, agent, area, onText: setText })
  const id = useId()
  useLayoutEffect(() => grow(area.current!), [text])
  const send = async () => {
    if (isSending || text.trim() === '') return
    setSending(true)
    try {
      await onSend(
        text,
        given.map(attachment => attachment.id),
      )
      setText('')
      setGiven([])
    } catch (error) {
      showError(error)
    } finally {
      setSending(false)
      area.current?.focus()
    }
  }
  const add = async (files: Iterable<File>) => {
    for (const file of files)
      await onFile?.(file).then(attachment => setGiven(before => [...before, attachment]), showError)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing || completion.onKeyDown(event)) return
    if (event.key !== 'Enter' || event.shiftKey || event.altKey) return
    event.preventDefault()
    void send()
  }
  return (
    <div className="message-box" {...(onFile && dropHandlers(files => void add(files)))}>
      <SuggestionList completion={completion} />
      <textarea
        ref={area}
        aria-label={label}
        placeholder={label}
        aria-describedby={hint && id}
        rows={1}
        enterKeyHint="send"
        readOnly={isSending}
        value={text}
        {...completion.props}
        onChange={({ target }) => {
          setText(target.value)
          completion.onTyped(target)
        }}
        onKeyDown={onKeyDown}
        onBlur={completion.close}
      />
      <div className="box-tools">
        {choice}
        {onFile && <FileButton onFiles={add} />}
        <Given attachments={given} onChange={setGiven} />
        <span className="hint" id={id}>
          {hint}
        </span>
        <Button isMain disabled={isSending || text.trim() === ''} aria-busy={isSending || undefined} onClick={send}>
          Send
        </Button>
      </div>
    </div>
  )
}

/** The attachments of a message. */
const Given = ({
  attachments,
  onChange,
}: {
  attachments: readonly Attachment[]
  onChange: (attachments: readonly Attachment[]) => void
}) =>
  attachments.map(attachment => (
    <span key={attachment.id} className="given">
      {plainText(attachment.filename)}
      <Button
        isPlain
        icon="close"
        label={`Do not send ${plainText(attachment.filename)}`}
        onClick={() => onChange(attachments.filter(each => each !== attachment))}
      />
    </span>
  ))

const maxHeightPx = 240

function grow(area: HTMLTextAreaElement): void {
  area.style.height = 'auto'
  area.style.height = `${Math.min(area.scrollHeight + 2, maxHeightPx)}px`
}
