const tails = new Map<string, Promise<unknown>>()

/** Runs the works on one thing after each other, however each ends. */
export function inTurn<T>(thing: string, work: () => Promise<T>): Promise<T> {
  const result = (tails.get(thing) ?? Promise.resolve()).then(work, work)
  const tail = result.catch(() => {}).then(() => { if (tails.get(thing) === tail) tails.delete(thing) })
  tails.set(thing, tail)
  return result
}
