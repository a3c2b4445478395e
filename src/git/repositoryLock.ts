const tails = new Map<string, Promise<unknown>>()

/** Runs the works on one thing after each other, however each ends. */
export async function inTurn<T>(thing: string, work: () => Promise<T>): Promise<T> {
  const result = (tails.get(thing) ?? Promise.resolve()).then(work, work)
  tails.set(thing, result)
  try {
    return await result
  } finally {
    if (tails.get(thing) === result) tails.delete(thing)
  }
}
