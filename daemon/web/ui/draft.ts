import { useCallback, useState } from 'react'

const storageKey = (key: string): string => `board draft ${location.pathname} ${key}`

/** What was typed under a key and not sent yet. */
export const draftOf = (key: string): string => sessionStorage.getItem(storageKey(key)) ?? ''

/** Keeps what is typed in the tab, so that it survives a reload and a new sign-in; an empty text is forgotten. */
export function keepDraft(key: string, text: string): void {
  try {
    if (text === '') sessionStorage.removeItem(storageKey(key))
    else sessionStorage.setItem(storageKey(key), text)
  } catch {
    // A browser without room keeps it as long as the page is open.
  }
}

/** A text that is typed, kept under a key. */
export function useDraft(key: string): [string, (text: string) => void] {
  const [text, setText] = useState(() => draftOf(key))
  const change = useCallback(
    (typed: string) => {
      setText(typed)
      keepDraft(key, typed)
    },
    [key],
  )
  return [text, change]
}
