import { retry } from '../../src/async/retry.ts'
import type { ApiFailure } from '../../src/client/failures.ts'

const maxWaitSecs = 600

/** Retries after the delay that a busy server requests. Gives up after a total of 10 minutes. */
export function retryOnRateLimit<T>(action: () => Promise<T>): Promise<T> {
  let waitedSecs = 0
  const delayMs = (error: unknown) => {
    const { status, code, retryAfterSecs } = error as ApiFailure
    const isBusy = status === 429 || (status === 503 && code !== 'AGENT_UNAVAILABLE')
    if (!isBusy || retryAfterSecs === undefined || waitedSecs + retryAfterSecs > maxWaitSecs) return undefined
    waitedSecs += retryAfterSecs
    return retryAfterSecs * 1000
  }
  return retry(action, { delayMs })
}
