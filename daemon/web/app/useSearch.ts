import { useEffect, useState } from 'react'

const searchAfterMs = 150

/**
 * Returns the results of a search on the server after the user has stopped typing, and the previous results until then.
 * Empty for an empty text. Undefined before the first results.
 */
export function useSearch<T>(text: string, find: (text: string) => Promise<readonly T[]>): readonly T[] | undefined {
  const [found, setFound] = useState<readonly T[]>()
  useEffect(() => {
    if (text === '') return setFound(undefined)
    let isOver = false
    const timer = setTimeout(() => {
      find(text).then(
        results => isOver || setFound(results),
        () => undefined,
      )
    }, searchAfterMs)
    return () => {
      isOver = true
      clearTimeout(timer)
    }
  }, [text])
  return text === '' ? [] : found
}
