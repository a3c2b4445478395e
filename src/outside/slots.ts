/** Runs works, at most so many at once; the others wait in the order in which they came. */
export function createSlots(maxConcurrent: number): <T>(work: () => Promise<T>) => Promise<T> {
  const waiting: Array<() => void> = []
  let running = 0
  return async work => {
    if (running < maxConcurrent) running++
    else await new Promise<void>(resolve => waiting.push(resolve))
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else running--
    }
  }
}
