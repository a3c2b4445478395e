import { ApiFailure, Unreachable } from '../../../src/client/failures.ts'

const pause = (ms: number) => new Promise<void>(resolve => setTimeout(resolve, ms))
const retryMs = 1000

/**
 * Retries while the server is offline, and after the delay of a rate limit. @param isOver returns whether the result
 * is no longer needed @throws all other errors
 */
export async function untilReached<T>(work: () => Promise<T>, isOver: () => boolean): Promise<T> {
  for (;;) {
    try {
      return await work()
    } catch (error) {
      const waitMs = error instanceof Unreachable ? retryMs : limitOf(error)
      if (waitMs === undefined || isOver()) throw error
      await pause(waitMs)
    }
  }
}

const limitOf = (error: unknown): number | undefined =>
  error instanceof ApiFailure && error.status === 429 && error.retryAfterSecs !== undefined
    ? error.retryAfterSecs * 1000
    : undefined
