import { pickNamed, type Named } from '../context/resolve.ts'

/**
 * All ids of a list in a new order, as the reorder routes want them: those that are named come first, the others follow as they
 * stand.
 * @throws Failure (not found, usage) for a name that is none of them.
 */
export function reorderIds(kind: string, items: readonly Named[], wanted: readonly string[], see: string): string[] {
  const first = wanted.map(each => pickNamed(kind, items, each, see).id)
  return [...new Set([...first, ...items.map(({ id }) => id)])]
}
