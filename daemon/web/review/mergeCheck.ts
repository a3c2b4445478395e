import { useEffect, useState } from 'react'
import { ApiFailure } from '../../../src/client/failures.ts'
import { reasonOf } from '../app/reasons.ts'
import { client } from '../app/session.ts'
import type { CardPlace } from './reviewStore.ts'

/** The result of a merge that was tried. `problem` is the reason why it is not possible, other than conflicts. */
export interface MergeCheck {
  hasWork: boolean
  conflicts: readonly string[]
  problem: string | null
}

const delayMs = 300

/** Tries the merge whenever the target changes. Undefined until the server responds. */
export function useMergeCheck({ projectId, cardId }: CardPlace, target: string): MergeCheck | undefined {
  const [check, setCheck] = useState<MergeCheck>()
  useEffect(() => {
    let isOver = false
    setCheck(undefined)
    const timer = setTimeout(
      () =>
        void readCheck({ projectId, cardId }, target).then(read => {
          if (!isOver) setCheck(read)
        }),
      delayMs,
    )
    return () => {
      isOver = true
      clearTimeout(timer)
    }
  }, [projectId, cardId, target])
  return check
}

const readCheck = (place: CardPlace, target: string): Promise<MergeCheck> =>
  client.branches.checkMerge({ ...place, into: target || undefined }).then(
    all => ({ hasWork: all.some(({ hasWork }) => hasWork), conflicts: [], problem: null }),
    (error: unknown) => ({
      hasWork: true,
      conflicts: conflictsOf(error),
      problem: isConflict(error) ? null : reasonOf(error),
    }),
  )

const isConflict = (error: unknown): error is ApiFailure =>
  error instanceof ApiFailure && error.code === 'MERGE_CONFLICT'

/** The files that conflict. Empty for any other error. */
export function conflictsOf(error: unknown): string[] {
  if (!isConflict(error)) return []
  if (error.details.length === 0) return [reasonOf(error)]
  return error.details.map(({ path, message }) => (message === 'has a conflict' ? path : `${path} (${message})`))
}
