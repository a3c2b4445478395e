import { createSemaphore } from '../../src/async/semaphore.ts'
import { Problem } from '../../src/contract/errors.ts'

/** A semaphore that also limits the queue. */
export interface ConcurrencyLimit {
  /** Counts a request until the returned function is called. @throws Problem RATE_LIMITED if too many are counted */
  enter(): () => void
  /** Runs the work once fewer requests than the limit are running, in the order of arrival. */
  runInTurn<T>(work: () => Promise<T>): Promise<T>
}

/**
 * Limits requests that take memory and time.
 * @param what the limited work, in the plural
 * @param maxUnderWay the maximum number of open requests, including queued ones and those with slow clients
 * @param maxAtWork the maximum number of concurrently running requests
 */
export function createConcurrencyLimit(
  what: string,
  { maxUnderWay, maxAtWork }: { maxUnderWay: number; maxAtWork: number },
): ConcurrencyLimit {
  let underWay = 0
  return {
    enter: () => {
      if (underWay >= maxUnderWay)
        throw new Problem('RATE_LIMITED', `${maxUnderWay} ${what} are already in progress.`, { retryAfterSecs: 10 })
      underWay++
      let isCounted = true
      return () => {
        if (isCounted) underWay--
        isCounted = false
      }
    },
    runInTurn: createSemaphore(maxAtWork),
  }
}
