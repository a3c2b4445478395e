import { parse, type IPv6 } from 'ipaddr.js'
import { createHmac, randomBytes } from 'node:crypto'
import { RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible'
import { Problem } from '../contract/errors.ts'
import { addToCounter, readCounter, type Count } from '../store/server/counters.ts'
import type { Database } from '../store/engine/database.ts'
import type { Seal } from './seal.ts'

export const maxFailuresPerMinute = 10
const minuteMs = 60_000
/** Hexadecimal digits: 20 bits. */
const hashDigits = 5

/** Rate-limits password guessing: failures per minute of an address and of an email. */
export interface Throttle {
  /** @throws Problem RATE_LIMITED if the address or the email has failed too often */
  check(address: string, email: string): Promise<void>
  /** Counts a failure. @throws Problem RATE_LIMITED when it exceeds the limit */
  countFailure(address: string, email: string): Promise<void>
}

/** Failures of the current minute, counted by key. */
interface Failures {
  get(key: string): Promise<Count | undefined>
  add(key: string): Promise<Count>
}

/**
 * Counts failures by a short keyed hash of the address or email. The short hash limits the memory that attackers can fill. The
 * secret key prevents them from choosing an address that shares a victim's count. The key is new at each start; daemons that
 * share a database derive the same key.
 */
export function createThrottle(db: Database, seal: Seal): Throttle {
  const [failures, secret] = db.isShared
    ? [sharedFailures(db), seal.derive('board throttle')]
    : [ownFailures(), randomBytes(32)]
  const keyOf = (kind: 'address' | 'email', value: string) =>
    kind[0] + createHmac('sha256', secret).update(`${kind} ${value}`).digest('hex').slice(0, hashDigits)
  const keysOf = (address: string, email: string) => [
    keyOf('address', networkOf(address)),
    keyOf('email', email.toLowerCase()),
  ]
  const requireAtMost = (counts: Array<Count | undefined>, maxFailures: number) => {
    const exceeded = counts.filter(
      count => count !== undefined && count.taken > maxFailures && count.leftMs > 0,
    ) as Count[]
    if (exceeded.length > 0)
      throw new Problem('RATE_LIMITED', 'Too many failed attempts. Try again later.', {
        retryAfterSecs: Math.max(...exceeded.map(({ leftMs }) => leftMs)) / 1000,
      })
  }
  return {
    check: async (address, email) =>
      requireAtMost(await Promise.all(keysOf(address, email).map(failures.get)), maxFailuresPerMinute - 1),
    countFailure: async (address, email) =>
      requireAtMost(await Promise.all(keysOf(address, email).map(failures.add)), maxFailuresPerMinute),
  }
}

function ownFailures(): Failures {
  const limiter = new RateLimiterMemory({ points: maxFailuresPerMinute, duration: minuteMs / 1000 })
  const count = (result: RateLimiterRes | null) =>
    result === null ? undefined : { taken: result.consumedPoints, leftMs: result.msBeforeNext }
  return { get: async key => count(await limiter.get(key)), add: async key => count(await limiter.penalty(key))! }
}

const sharedFailures = (db: Database): Failures => ({
  get: key => readCounter(db, `failures/${key}`),
  add: key => db.transaction(tx => addToCounter(tx, `failures/${key}`, 1, minuteMs)),
})

/** Returns the /64 network of an IPv6 address, because a host can use all its addresses. Returns other addresses unchanged. */
export function networkOf(address: string): string {
  try {
    const parsed = parse(address)
    if (parsed.kind() === 'ipv4') return parsed.toString()
    const ipv6 = parsed as IPv6
    return ipv6.isIPv4MappedAddress() ? ipv6.toIPv4Address().toString() : ipv6.parts.slice(0, 4).join(':')
  } catch {
    return address
  }
}
