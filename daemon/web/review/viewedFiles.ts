import { useCallback, useMemo, useState } from 'react'
import type { DiffFile } from '../../../src/contract/forges/diffFiles.ts'
import type { CardPlace } from './reviewStore.ts'

/** The files that the user has viewed. A file is no longer viewed once its content changes. Stored in this browser. */
export function useViewed(
  { projectId, cardId }: CardPlace,
  repository: string,
): [(file: DiffFile) => boolean, (file: DiffFile) => void] {
  const key = `board viewed ${new URL('.', location.href).pathname} ${[projectId, cardId, repository].filter(Boolean).join(' ')}`
  const [stored, setStored] = useState(() => ({ key, marks: readMarks(key) }))
  const marks = useMemo(() => (stored.key === key ? stored.marks : readMarks(key)), [stored, key])
  const isViewed = useCallback(
    (file: DiffFile) => Object.hasOwn(marks, file.path) && marks[file.path] === file.contents,
    [marks],
  )
  const toggle = useCallback(
    (file: DiffFile) =>
      setStored(before => {
        const { [file.path]: mark, ...others } = before.key === key ? before.marks : readMarks(key)
        const after = mark === file.contents ? others : { ...others, [file.path]: file.contents }
        localStorage.setItem(key, JSON.stringify(after))
        return { key, marks: after }
      }),
    [key],
  )
  return [isViewed, toggle]
}

const readMarks = (key: string) => JSON.parse(localStorage.getItem(key) ?? '{}') as Record<string, string>

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
