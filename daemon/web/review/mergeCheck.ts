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

/**
 * Tries the merge whenever the target changes, or the work. Undefined until the server responds.
 * @param work a value that differs after each change of the work
 */
export function useMergeCheck(
  { projectId, cardId }: CardPlace,
  target: string,
  work: unknown = undefined,
): MergeCheck | undefined {
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
  }, [projectId, cardId, target, work])
  return check
}

async function readCheck(place: CardPlace, target: string): Promise<MergeCheck> {
  try {
    const all = await client.branches.checkMerge({ ...place, into: target || undefined })
    const problems = all.flatMap(({ problem }) => problem ?? [])
    return {
      hasWork: all.some(({ hasWork }) => hasWork),
      conflicts: problems.flatMap(conflictsIn),
      problem: problems.find(({ code }) => code !== 'MERGE_CONFLICT')?.message ?? null,
    }
  } catch (error) {
    return { hasWork: true, conflicts: [], problem: reasonOf(error) }
  }
}

/** The files that conflict. Empty for any other error. */
export const conflictsOf = (error: unknown): string[] =>
  error instanceof ApiFailure ? conflictsIn({ ...error, message: reasonOf(error) }) : []

function conflictsIn({ code, message, details }: Pick<ApiFailure, 'code' | 'message' | 'details'>): string[] {
  if (code !== 'MERGE_CONFLICT') return []
  if (details.length === 0) return [message]
  return details.map(each => (each.message === 'has a conflict' ? each.path : `${each.path} (${each.message})`))
}
