import { setTimeout as delay } from 'node:timers/promises'

export interface RetryOptions {
  /**
   * How long to wait after a failure, in milliseconds; undefined gives up.
   * @param failures how many attempts have failed, at least 1
   */
  delayMs(error: unknown, failures: number): number | undefined
  /** Stops the retries when aborted, including during a wait. */
  signal?: AbortSignal
  /** Whether waiting keeps the process alive. */
  ref?: boolean
}

/**
 * Runs `work` until it succeeds.
 * @throws the error of the last attempt
 */
export async function retry<T>(work: () => Promise<T>, { delayMs, signal, ref = true }: RetryOptions): Promise<T> {
  for (let failures = 1; ; failures++) {
    try {
      return await work()
    } catch (error) {
      const waitMs = signal?.aborted ? undefined : delayMs(error, failures)
      if (waitMs === undefined) throw error
      await delay(waitMs, undefined, { signal, ref }).catch(() => {
        throw error
      })
    }
  }
}
