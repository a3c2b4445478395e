import { parse, type IPv6 } from 'ipaddr.js'
import { createHmac, randomBytes } from 'node:crypto'
import { RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible'
import { Problem } from '../contract/errors.ts'

export const mostFailuresAMinute = 10

/** Slows down guessing (DECISIONS "Who may call"): so many failures a minute for an address and for an email. */
export interface Throttle {
  /** @throws Problem RATE_LIMITED when the address or the email has failed too often */
  check(address: string, email: string): Promise<void>
  /** Counts a failure. @throws Problem RATE_LIMITED when it is one too many */
  countFailure(address: string, email: string): Promise<void>
}

/**
 * Addresses and emails are told apart by 20 bits of a keyed hash. That bounds what strangers can make the server remember,
 * and the key, new at each start, keeps them from choosing whom they share a count with.
 */
export function createThrottle(): Throttle {
  const failures = new RateLimiterMemory({ points: mostFailuresAMinute, duration: 60 })
  const secret = randomBytes(32)
  const keysOf = (address: string, email: string) => [`address ${networkOf(address)}`, `email ${email.toLowerCase()}`]
    .map(text => text.slice(0, 1) + createHmac('sha256', secret).update(text).digest('hex').slice(0, 5))
  const refuse = (counts: Array<RateLimiterRes | null>, most: number) => {
    const over = counts.filter(count => count !== null && count.consumedPoints > most && count.msBeforeNext > 0) as RateLimiterRes[]
    if (over.length > 0) throw new Problem('RATE_LIMITED', 'Too many failures; try again later.', { retryAfterSecs: Math.max(...over.map(count => count.msBeforeNext)) / 1000 })
  }
  return {
    check: async (address, email) => refuse(await Promise.all(keysOf(address, email).map(key => failures.get(key))), mostFailuresAMinute - 1),
    countFailure: async (address, email) => refuse(await Promise.all(keysOf(address, email).map(key => failures.penalty(key))), mostFailuresAMinute),
  }
}

/** An IPv6 host commands at least 2^64 addresses: it counts as its /64. */
function networkOf(address: string): string {
  try {
    const parsed = parse(address)
    if (parsed.kind() === 'ipv4') return parsed.toString()
    const wide = parsed as IPv6
    return wide.isIPv4MappedAddress() ? wide.toIPv4Address().toString() : wide.parts.slice(0, 4).join(':')
  } catch {
    return address
  }
}
