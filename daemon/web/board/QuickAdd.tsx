import { useEffect, useRef, useState, type FormEvent } from 'react'
import type { ShownColumn } from '../../../src/boardModel/shownBoard.ts'
import { announce, showError } from '../app/messages.ts'
import { client } from '../app/session.ts'
import { useStore } from '../app/store.ts'
import { Button } from '../ui/Button.tsx'
import { adding, useCanChange } from './actions.ts'
import type { BoardSession } from './boardSession.ts'

/** Adds cards one after the other: Enter adds a card, and the field stays open. None is started by that. */
export function QuickAdd({ session, column }: { session: BoardSession; column: ShownColumn }) {
  const isOpen = useStore(adding, id => id === column.id)
  const mayChange = useCanChange(session.projectId)
  const [title, setTitle] = useState('')
  const input = useRef<HTMLInputElement>(null)
  const end = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (!isOpen) return
    end.current!.closest('.column')?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
    input.current!.focus()
  }, [isOpen])
  if (!mayChange) return null
  const close = () => {
    adding.set(undefined)
    const current = session.cursor.inColumn(column.id)
    if (current === undefined) setTimeout(() => end.current?.querySelector('button')?.focus())
    else session.cursor.focusCard(current)
  }
  const add = async (event: FormEvent) => {
    event.preventDefault()
    const text = title.trim()
    if (text === '') return
    setTitle('')
    try {
      await client.cards.create({ projectId: session.projectId, columnId: column.id, title: text, deferred: true })
      announce(`Added ${text} to ${column.name}`)
    } catch (error) {
      setTitle(now => (now === '' ? text : now))
      showError(error)
    }
  }
  return (
    <div className="column-end" ref={end}>
      {isOpen ? (
        <form onSubmit={event => void add(event)}>
          <input
            ref={input}
            aria-label={`Title of a new card in ${column.name}`}
            placeholder="Title (Enter adds, Escape cancels)"
            maxLength={500}
            value={title}
            onChange={({ target }) => setTitle(target.value)}
            onKeyDown={event => {
              if (event.key === 'Escape') close()
            }}
            onBlur={() => {
              if (title.trim() === '') adding.update(id => (id === column.id ? undefined : id))
            }}
          />
        </form>
      ) : (
        <Button isPlain icon="add" onClick={() => adding.set(column.id)} label={`New card in ${column.name}`}>
          {' '}
          New card{' '}
        </Button>
      )}
    </div>
  )
}
