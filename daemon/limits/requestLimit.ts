import { RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible'
import { Problem } from '../../src/contract/errors.ts'
import { addToCounter } from '../../src/store/server/counters.ts'
import type { Database } from '../../src/store/engine/database.ts'
import type { Headers } from '../http/response.ts'

/** Counts a request of an API key or an agent, and writes the `RateLimit` headers. @throws Problem RATE_LIMITED */
export type RequestLimit = (id: number | string, headers: Headers) => Promise<void>
/** The requests that are left in the minute; negative over the limit. */
interface Remaining {
  points: number
  ms: number
}

const minuteMs = 60_000
/** On a shared database, the part of the remaining requests that a daemon reserves at a time. */
const portion = 1 / 8

/**
 * Limits the requests per minute of each API key or each agent, across all daemons on the database (specification "Limits").
 * Infinity disables the limit.
 */
export function createRequestLimit(kind: 'key' | 'agent', requestsPerMinute: number, db: Database): RequestLimit {
  if (!Number.isFinite(requestsPerMinute)) return async () => {}
  const take = db.isShared ? sharedPoints(kind, requestsPerMinute, db) : ownPoints(requestsPerMinute)
  return async (id, headers) => {
    const left = await take(id)
    const resetSecs = Math.max(1, Math.ceil(left.ms / 1000))
    headers['ratelimit-policy'] = `"minute";q=${requestsPerMinute};w=60`
    headers.ratelimit = `"minute";r=${Math.max(0, left.points)};t=${resetSecs}`
    if (left.points < 0) throw new Problem('RATE_LIMITED', undefined, { retryAfterSecs: resetSecs })
  }
}

function ownPoints(maxRequests: number): (id: number | string) => Promise<Remaining> {
  const limiter = new RateLimiterMemory({ points: maxRequests, duration: minuteMs / 1000 })
  return async id => {
    const result = await limiter.consume(id).catch((refused: unknown) => refused as RateLimiterRes)
    return { points: result.consumedPoints > maxRequests ? -1 : result.remainingPoints, ms: result.msBeforeNext }
  }
}

/**
 * Reserves points from the database in portions, so that most requests cost no write and all daemons together never
 * exceed the limit. Points reserved but unused at the end of the minute are lost.
 */
function sharedPoints(kind: string, maxRequests: number, db: Database): (id: number | string) => Promise<Remaining> {
  interface Taken {
    here: number
    elsewhere: number
    endsAtMs: number
    taking?: Promise<void>
  }
  const byId = new Map<number | string, Taken>()
  const takeMore = async (id: number | string, taken: Taken) => {
    const wanted = Math.max(1, Math.floor(taken.elsewhere * portion))
    const count = await db.transaction(tx => addToCounter(tx, `${kind}/${id}`, wanted, minuteMs))
    const over = Math.max(0, count.taken - maxRequests)
    taken.here += Math.max(0, wanted - over)
    taken.elsewhere = Math.max(0, maxRequests - count.taken)
    taken.endsAtMs = performance.now() + count.leftMs
  }
  return async id => {
    const nowMs = performance.now()
    let taken = byId.get(id)
    if (!taken || taken.endsAtMs <= nowMs) {
      for (const [other, { endsAtMs }] of byId) if (endsAtMs <= nowMs) byId.delete(other)
      byId.set(id, (taken = { here: 0, elsewhere: maxRequests, endsAtMs: nowMs + minuteMs }))
    }
    while (taken.here === 0 && taken.elsewhere > 0)
      await (taken.taking ??= takeMore(id, taken).finally(() => {
        taken.taking = undefined
      }))
    const ms = taken.endsAtMs - performance.now()
    return taken.here > 0 ? { points: --taken.here + taken.elsewhere, ms } : { points: -1, ms }
  }
}
