import { useId, useMemo, useRef, useState, type KeyboardEvent, type RefObject } from 'react'
import { flushSync } from 'react-dom'
import { announce } from '../app/messages.ts'
import { plainText } from '../ui/plainText.ts'
import { createSuggestions, typedAt, type Suggest, type Suggestion } from './completion.ts'

interface CompletionProps {
  projectId: string
  agent?: string | null
  area: RefObject<HTMLTextAreaElement | null>
  onText: (text: string) => void
  /** The suggestions of a project, if not commands and files. */
  suggest?: (projectId: string) => Suggest
}

/** Suggests commands and files during typing. Arrow keys select, Tab and Enter accept, Escape closes. */
export function useCompletion({ projectId, agent, area, onText, suggest: offer = createSuggestions }: CompletionProps) {
  const [found, setFound] = useState<readonly Suggestion[]>([])
  const [at, setAt] = useState(0)
  const turn = useRef(0)
  const suggest = useMemo(() => offer(projectId), [offer, projectId])
  const id = useId()
  const close = () => {
    turn.current++
    setFound([])
  }
  const onTyped = async ({ value, selectionStart }: HTMLTextAreaElement) => {
    const mine = ++turn.current
    const typed = typedAt(value, selectionStart)
    const some = typed ? await suggest(typed, agent) : []
    if (mine !== turn.current) return
    setFound(some)
    setAt(0)
    if (some.length > 0) announce(`${some.length} suggestions`)
  }
  const insertSuggestion = ({ value }: Suggestion) => {
    const { value: text, selectionStart } = area.current!
    const typed = typedAt(text, selectionStart)
    close()
    if (!typed) return
    const caret = typed.from + value.length
    // The caret must be set before the next key.
    flushSync(() => onText(text.slice(0, typed.from) + value + text.slice(selectionStart)))
    area.current?.setSelectionRange(caret, caret)
  }
  /** Returns whether the suggestions have handled the key. */
  const onKeyDown = (event: KeyboardEvent): boolean => {
    if (found.length === 0) return false
    const { key } = event
    if (key === 'ArrowDown' || key === 'ArrowUp')
      setAt((at + (key === 'ArrowDown' ? 1 : found.length - 1)) % found.length)
    else if (key === 'Escape') close()
    else if (key === 'Tab' || (key === 'Enter' && !event.shiftKey)) insertSuggestion(found[at]!)
    else return false
    event.preventDefault()
    event.stopPropagation()
    return true
  }
  const isOpen = found.length > 0
  const props = {
    'aria-autocomplete': 'list' as const,
    'aria-controls': isOpen ? id : undefined,
    'aria-activedescendant': isOpen ? `${id}-${at}` : undefined,
  }
  return { found, at, id, take: insertSuggestion, close, onTyped, onKeyDown, props }
}

/** The list of suggestions above the box. */
export function SuggestionList({ completion }: { completion: ReturnType<typeof useCompletion> }) {
  const { found, at, id, take } = completion
  if (found.length === 0) return null
  return (
    <ul className="suggestions" role="listbox" id={id} aria-label="Suggestions">
      {found.map((suggestion, index) => (
        <li
          key={suggestion.value}
          id={`${id}-${index}`}
          role="option"
          aria-selected={index === at}
          // The box keeps the focus.
          onMouseDown={event => {
            event.preventDefault()
            take(suggestion)
          }}
        >
          <span>{plainText(suggestion.shown ?? suggestion.value)}</span>{' '}
          <span className="dim">{plainText(suggestion.about)}</span>
        </li>
      ))}
    </ul>
  )
}
