/** Runs a limited number of tasks concurrently. Other tasks wait in order. */
export type Semaphore = <T>(work: () => Promise<T>) => Promise<T>

/** If a slot is free, the work starts before the call returns. */
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
