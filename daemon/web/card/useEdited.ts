import { useState } from 'react'
import { ApiFailure } from '../../../src/client/failures.ts'
import { showError } from '../app/messages.ts'
import { client } from '../app/session.ts'
import { draftOf, keepDraft } from '../ui/draft.ts'
import { useCard, useOpened } from './openedCard.ts'

/** The typed text and the text that the edit started from, to detect changes by another person. */
interface Edit {
  text: string
  base: string
}

/** Edits a text of the card in place. The typed text survives a reload and never overwrites another person's change. */
export function useEdited(field: 'title' | 'prompt') {
  const opened = useOpened()
  const card = useCard()
  const key = `card ${card.id} ${field}`
  const [edit, setEdit] = useState<Edit | undefined>(() => readEdit(key))
  const [error, setError] = useState<unknown>()
  const now = card[field]
  const keep = (next: Edit | undefined) => {
    setEdit(next)
    keepDraft(key, next === undefined ? '' : JSON.stringify(next))
  }
  const end = () => {
    keep(undefined)
    setError(undefined)
  }
  const save = async () => {
    if (!edit) return
    if (edit.text === now) return end()
    setError(undefined)
    try {
      await write(edit)
      end()
    } catch (failure) {
      setError(failure)
    }
  }
  const write = async ({ text, base }: Edit): Promise<void> => {
    const place = { projectId: opened.projectId, cardId: card.id }
    for (let tries = 0; tries < maxTries; tries++) {
      const current = opened.state.get().card!
      if (current[field] !== base) throw new Error('Another person has changed this text in the meantime.')
      try {
        return opened.setCard(
          await client.cards.update({ ...place, [field]: text }, { ifMatch: `"${current.version}"` }),
        )
      } catch (failure) {
        // The card's version increases with every change of the card, so compare this text instead.
        if (!(failure instanceof ApiFailure) || failure.code !== 'VERSION_CONFLICT') throw failure
        opened.setCard(await client.cards.get(place))
      }
    }
    throw new Error('The card is changing too often. Try again.')
  }
  return {
    now,
    text: edit?.text ?? now,
    isEditing: edit !== undefined,
    /** The other person's text, if it has changed since the edit started. */
    theirs: edit !== undefined && edit.base !== now ? now : undefined,
    error,
    begin: () => keep({ text: now, base: now }),
    setText: (text: string) => keep({ text, base: edit?.base ?? now }),
    /** Continues with the typed text, which replaces the other person's. */
    keepMine: () => keep({ text: edit?.text ?? now, base: now }),
    end,
    save,
    /** Saves a change of the current text that needs no editor. */
    replace: (text: string) => void write({ text, base: now }).catch(showError),
  }
}

const maxTries = 5

function readEdit(key: string): Edit | undefined {
  const kept = draftOf(key)
  try {
    return kept === '' ? undefined : (JSON.parse(kept) as Edit)
  } catch {
    return undefined
  }
}
