import { useCallback, useState } from 'react'
import type { DiffFile } from '../../../src/contract/forges/diffFiles.ts'
import type { CardPlace } from './reviewStore.ts'

/** Which files one has looked at, in the contents that they had then. They are kept in this browser. */
export function useViewed(
  { projectId, cardId }: CardPlace,
  repository: string,
): [(file: DiffFile) => boolean, (file: DiffFile) => void] {
  const key = `board viewed ${new URL('.', location.href).pathname} ${[projectId, cardId, repository].filter(Boolean).join(' ')}`
  const [marks, setMarks] = useState(() => JSON.parse(localStorage.getItem(key) ?? '{}') as Record<string, string>)
  const isViewed = useCallback(
    (file: DiffFile) => Object.hasOwn(marks, file.path) && marks[file.path] === file.contents,
    [marks],
  )
  const toggle = useCallback(
    (file: DiffFile) =>
      setMarks(before => {
        const { [file.path]: mark, ...others } = before
        const after = mark === file.contents ? others : { ...others, [file.path]: file.contents }
        localStorage.setItem(key, JSON.stringify(after))
        return after
      }),
    [key],
  )
  return [isViewed, toggle]
}

const splitKey = 'board diff side by side'

/** Returns whether the person prefers split diffs. */
export function useSplit(): [boolean, (isSplit: boolean) => void] {
  const [isSplit, setSplit] = useState(localStorage.getItem(splitKey) === 'yes')
  const change = useCallback((to: boolean) => {
    localStorage.setItem(splitKey, to ? 'yes' : 'no')
    setSplit(to)
  }, [])
  return [isSplit, change]
}
