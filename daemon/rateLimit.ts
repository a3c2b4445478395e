import { RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible'
import { Problem } from '../src/contract/errors.ts'
import type { Headers } from './answer.ts'

/** Counts a request of an API key and writes the `RateLimit` headers. */
export type KeyLimit = (keyId: number, headers: Headers) => Promise<void>

/** So many requests a minute and key (specification "Limits"). Infinity switches the limit off. */
export function createKeyLimit(requestsPerMinute: number): KeyLimit {
  if (!Number.isFinite(requestsPerMinute)) return async () => {}
  const limiter = new RateLimiterMemory({ points: requestsPerMinute, duration: 60 })
  return async (keyId, headers) => {
    const result = await limiter.consume(keyId).catch((refused: unknown) => refused as RateLimiterRes)
    const resetSecs = Math.max(1, Math.ceil(result.msBeforeNext / 1000))
    headers['ratelimit-policy'] = `"minute";q=${requestsPerMinute};w=60`
    headers.ratelimit = `"minute";r=${Math.max(0, result.remainingPoints)};t=${resetSecs}`
    if (result.consumedPoints > requestsPerMinute) throw new Problem('RATE_LIMITED', undefined, { retryAfterSecs: resetSecs })
  }
}
