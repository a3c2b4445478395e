import { useState } from 'react'
import type { Card } from '../../../src/boardModel/cardCache.ts'
import { announce, showError } from '../app/messages.ts'
import { client } from '../app/session.ts'
import { editing } from './actions.ts'
import type { BoardSession } from './boardSession.ts'

/** The title of a card while a person edits it on the board: Enter or leaving the field saves it, Escape does not. */
export function TileTitle({ session, card }: { session: BoardSession; card: Card }) {
  const [title, setTitle] = useState(card.title)
  const close = () => editing.update(id => (id === card.id ? undefined : id))
  const save = () => {
    close()
    const text = title.trim()
    if (text !== '' && text !== card.title) void rename(session, card, text)
  }
  return (
    <input
      className="title-field"
      aria-label={`Title of card ${card.id}`}
      autoFocus
      maxLength={500}
      value={title}
      onFocus={({ target }) => target.select()}
      onChange={({ target }) => setTitle(target.value)}
      onBlur={save}
      onKeyDown={event => {
        if (event.nativeEvent.isComposing || (event.key !== 'Enter' && event.key !== 'Escape')) return
        event.preventDefault()
        if (event.key === 'Enter') save()
        else close()
        session.cursor.focusCard(card.id)
      }}
    />
  )
}

/** Renames a card. The new title is shown before the server confirms it. */
async function rename(session: BoardSession, { projectId, id: cardId, title }: Card, text: string): Promise<void> {
  const show = (shown: string) =>
    session.set(state => {
      const card = state.cache.cards.get(cardId)
      if (!card) return state
      return {
        ...state,
        cache: { ...state.cache, cards: new Map(state.cache.cards).set(cardId, { ...card, title: shown }) },
      }
    })
  show(text)
  try {
    await client.cards.update({ projectId, cardId, title: text })
    announce(`Renamed card ${cardId}`)
  } catch (error) {
    show(title)
    showError(error)
  }
}
