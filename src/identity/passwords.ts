import type { Options } from '@node-rs/argon2'
import { availableParallelism } from 'node:os'
import { Problem } from '../contract/errors.ts'
import { createSemaphore } from '../async/semaphore.ts'
import { networkOf } from './throttle.ts'

/**
 * argon2id with the parameters of OWASP's password storage cheat sheet; argon2id is the package's default algorithm.
 */
const cost: Options = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }
/** A hash that matches no password, so that an unknown account takes as long to refuse as a known one. */
const unmatchableHash =
  '$argon2id$v=19$m=19456,t=2,p=1$aSDCGsrAkV43RWInCJ+/xA$5lWI5UcrLkkIK7vWEeUf89mxjBnSo8a284eQedqmY2U'
const maxWaiting = 1000
/** The limit of one network: enough for an office behind one address, while an attacker cannot fill the whole queue. */
const maxWaitingFromOne = 250

/** Hashes a password off the main thread, in the PHC string format. */
export async function hashPassword(password: string): Promise<string> {
  const argon2 = await import('@node-rs/argon2')
  return argon2.hash(password, cost)
}

/** Verifies a password. Without a hash the result is false, after the same time. */
export async function verifyPassword(passwordHash: string | null | undefined, password: string): Promise<boolean> {
  const argon2 = await import('@node-rs/argon2')
  const matches = await argon2.verify(passwordHash ?? unmatchableHash, password)
  return matches && typeof passwordHash === 'string'
}

/**
 * Runs hashing work. A limited number runs concurrently, and the rest is queued. `address` is the address of an
 * unauthenticated client.
 */
export type HashQueue = <T>(work: () => Promise<T>, address?: string) => Promise<T>

/**
 * One hash takes 19 MiB and a core for tens of milliseconds. Queueing bursts of sign-ins keeps memory, cores and pool
 * threads free for everything else.
 */
export function createHashQueue(maxConcurrent = Math.min(3, Math.max(1, availableParallelism() - 1))): HashQueue {
  const withSlot = createSemaphore(maxConcurrent)
  const waiting = new Set<{ network: string | undefined }>()
  const isFull = (network: string | undefined) =>
    waiting.size >= maxWaiting ||
    (network !== undefined && [...waiting].filter(each => each.network === network).length >= maxWaitingFromOne)
  return async (work, address) => {
    const network = address === undefined ? undefined : networkOf(address)
    if (isFull(network))
      throw new Problem('RATE_LIMITED', 'Too many concurrent sign-ins. Try again later.', { retryAfterSecs: 5 })
    const place = { network }
    waiting.add(place)
    return withSlot(() => {
      waiting.delete(place)
      return work()
    })
  }
}
