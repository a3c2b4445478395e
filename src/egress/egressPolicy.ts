import { isIP, type LookupFunction } from 'node:net'
import { parse } from 'ipaddr.js'
import type { Dispatcher } from 'undici'
import type { Lookup } from '../config/server.ts'
import { Problem } from '../contract/errors.ts'
import { isPlatformAddress, isPlatformName } from './platformAddresses.ts'
import { createSemaphore } from '../async/semaphore.ts'

/** Where requests may go that somebody else than the operator has named. */
export interface EgressPolicy {
  /**
   * Refuses a URL that leads to this machine or into its network. A name that has no address now is let pass: it is looked
   * at again at each connection.
   * @throws Problem WEBHOOK_TARGET_REFUSED
   */
  requireAllowed(url: string): Promise<void>
  /** Makes connections to addresses that were looked at and to no others, so that an answer of DNS that changes changes nothing. */
  dispatcher(): Promise<Dispatcher>
  close(): Promise<void>
}

/** The connection led to an address that may not be called. */
export class EgressRefused extends Error {
  constructor() {
    super('The target is a loopback, private or link-local address.')
    this.name = 'EgressRefused'
  }
}

const lookupTimeoutMs = 5000
const connectTimeoutMs = 10_000
const maxLookups = 2

export function createEgressPolicy({
  allowPrivate,
  lookup: lookupAddress,
}: {
  allowPrivate: boolean
  lookup: Lookup
}): EgressPolicy {
  const lookup = fewAtOnce(lookupAddress)
  let agent: Promise<Dispatcher> | undefined
  const isRefused = (address: string) => !allowPrivate && !isPublicAddress(address)
  const isRefusedName = (host: string) => !allowPrivate && isPlatformName(host)
  return {
    requireAllowed: async url => {
      const host = hostOf(new URL(url).hostname)
      const addresses = allowPrivate ? [] : isIP(host) ? [host] : await addressesOf(lookup, host)
      if (isRefusedName(host) || addresses.some(isRefused)) throw new Problem('WEBHOOK_TARGET_REFUSED')
    },
    dispatcher: () => (agent ??= makeAgent(host => (isIP(host) ? isRefused(host) : isRefusedName(host)), lookup)),
    close: async () => {
      await (await agent)?.destroy()
    },
  }
}

/**
 * Whether an address is one of the public Internet, by the registries of special-purpose addresses: what is mapped,
 * translated or tunnelled is not, nor is IPv6 outside of 2000::/3, nor where a cloud answers a machine about itself.
 */
export function isPublicAddress(address: string): boolean {
  try {
    const parsed = parse(address)
    return (
      parsed.range() === 'unicast' &&
      (!('parts' in parsed) || parsed.parts[0]! >> 13 === 1) &&
      !isPlatformAddress(parsed)
    )
  } catch {
    return false
  }
}

/** Looks at each host and address right before the connection to it. A host that is an address already is never looked up. */
async function makeAgent(isRefused: (address: string) => boolean, lookup: Lookup): Promise<Dispatcher> {
  const { Agent, buildConnector } = await import('../client/undici.ts')
  const guardedLookup: LookupFunction = (hostname, options, callback) =>
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(error, '')
      const [first] = addresses
      if (!first || addresses.some(({ address }) => isRefused(address))) return callback(new EgressRefused(), '')
      if (options.all) callback(null, addresses)
      else callback(null, first.address, first.family)
    })
  const connect = buildConnector({ timeout: connectTimeoutMs, lookup: guardedLookup } as Parameters<
    typeof buildConnector
  >[0])
  return new Agent({
    connect: (options, callback) => {
      const host = hostOf(options.hostname)
      if (isRefused(host)) callback(new EgressRefused(), null)
      else connect(options, callback)
    },
  })
}

/** The system's resolver takes a thread for each name, of four that files and passwords need as well. */
function fewAtOnce(lookup: Lookup): Lookup {
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

/** The addresses that a name has, none if nothing is known of it in time. */
function addressesOf(lookup: Lookup, host: string): Promise<string[]> {
  return new Promise(resolve => {
    const late = setTimeout(() => resolve([]), lookupTimeoutMs)
    lookup(host, { all: true }, (error, addresses) => {
      clearTimeout(late)
      resolve(error ? [] : addresses.map(({ address }) => address))
    })
  })
}

/** An IPv6 address stands in brackets in a URL. */
const hostOf = (hostname: string) => hostname.replace(/^\[(.*)\]$/, '$1')
