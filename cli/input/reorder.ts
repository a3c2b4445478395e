import { pickNamed, type Named } from '../context/resolve.ts'

/**
 * All IDs of a list in a new order, as the reorder routes require: the named ones first, then the others in their
 * current order.
 * @throws Failure (not found, usage) for an unknown name
 */
export function reorderIds(kind: string, items: readonly Named[], wanted: readonly string[], see: string): string[] {
  const first = wanted.map(each => pickNamed(kind, items, each, see).id)
  return [...new Set([...first, ...items.map(({ id }) => id)])]
}
