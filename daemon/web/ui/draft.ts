import { useCallback, useState } from 'react'

const storageKey = (key: string): string => `board draft ${location.pathname} ${key}`

/** Returns the unsent text of a key. */
export const draftOf = (key: string): string => sessionStorage.getItem(storageKey(key)) ?? ''

/** Stores unsent text in the tab, so that it survives a reload and a new sign-in. Deletes an empty text. */
export function keepDraft(key: string, text: string): void {
  try {
    if (text === '') sessionStorage.removeItem(storageKey(key))
    else sessionStorage.setItem(storageKey(key), text)
  } catch {
    // Without storage space, the text is kept only while the page is open.
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
