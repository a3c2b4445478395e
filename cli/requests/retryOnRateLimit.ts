import { retry } from '../../src/async/retry.ts'
import type { ApiFailure } from '../../src/client/failures.ts'

const maxWaitSecs = 600

/** Retries after the time that a busy server asks for. Gives up after 10 minutes of waiting in all. */
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
