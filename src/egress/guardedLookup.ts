import type { LookupFunction } from 'node:net'
import { createSemaphore } from '../async/semaphore.ts'
import type { Lookup } from '../config/server.ts'

const maxLookups = 2

/** Thrown if the connection led to a forbidden address. */
export class EgressRefused extends Error {
  constructor() {
    super('The target is a loopback, private or link-local address.')
    this.name = 'EgressRefused'
  }
}

/** Returns only checked addresses. A connection uses only these, regardless of later changes of the name. */
export const guardLookup =
  (lookup: Lookup, isRefused: (address: string) => boolean): LookupFunction =>
  (hostname, options, callback) =>
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(error, '')
      const [first] = addresses
      if (!first || addresses.some(({ address }) => isRefused(address))) return callback(new EgressRefused(), '')
      if (options.all) callback(null, addresses)
      else callback(null, first.address, first.family)
    })

/** Each look-up blocks one of four threads, which files and passwords need as well. */
export function fewAtOnce(lookup: Lookup): Lookup {
  const withSlot = createSemaphore(maxLookups)
  return (hostname, options, callback) =>
    void withSlot(
      () =>
        new Promise<void>(resolve =>
          lookup(hostname, options, (error, addresses) => {
            resolve()
            callback(error, addresses)
          }),
        ),
    )
}
