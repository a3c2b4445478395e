import { createSemaphore } from '../../src/async/semaphore.ts'
import { Problem } from '../../src/contract/errors.ts'

/** A semaphore that also bounds how many may wait for it. */
export interface ConcurrencyLimit {
  /** Counts a request until it leaves. @throws Problem RATE_LIMITED when there are too many already */
  enter(): () => void
  /** Does the work when fewer than the limit are at work, first come, first served. */
  take<T>(work: () => Promise<T>): Promise<T>
}

/**
 * Limits requests that take memory and time.
 * @param what what is limited, in the plural
 * @param maxUnderWay how many may be under way, with those that wait and those whose clients are slow
 * @param maxAtWork how many may work at once
 */
export function createConcurrencyLimit(
  what: string,
  { maxUnderWay, maxAtWork }: { maxUnderWay: number; maxAtWork: number },
): ConcurrencyLimit {
  let underWay = 0
  return {
    enter: () => {
      if (underWay >= maxUnderWay)
        throw new Problem('RATE_LIMITED', `${maxUnderWay} ${what} are under way already.`, { retryAfterSecs: 10 })
      underWay++
      let isInside = true
      return () => {
        if (isInside) underWay--
        isInside = false
      }
    },
    take: createSemaphore(maxAtWork),
  }
}
