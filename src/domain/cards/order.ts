import { Problem } from '../../contract/errors.ts'

/**
 * Checks that `ids` holds every ID of a list exactly once.
 * @throws Problem INVALID_ORDER
 */
export function requireWholeOrder(ids: readonly number[], present: readonly { id: number }[]): void {
  const wanted = new Set(ids)
  if (wanted.size !== ids.length || ids.length !== present.length || present.some(({ id }) => !wanted.has(id)))
    throw new Problem('INVALID_ORDER')
}
