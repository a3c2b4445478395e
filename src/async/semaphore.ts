/** Runs a limited number of works concurrently. Others wait in order. */
export type Semaphore = <T>(work: () => Promise<T>) => Promise<T>

/** Work that finds a free place begins at once, before the call returns. */
export function createSemaphore(maxConcurrent: number): Semaphore {
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
