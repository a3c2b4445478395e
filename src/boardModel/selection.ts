/** Returns the cards from one card of a column to another, both included. Only the latter if the former is not in the column. */
export function cardRange(ids: readonly string[], from: string | undefined, to: string): readonly string[] {
  const [start, end] = [from === undefined ? -1 : ids.indexOf(from), ids.indexOf(to)]
  return start < 0 ? [to] : ids.slice(Math.min(start, end), Math.max(start, end) + 1)
}
