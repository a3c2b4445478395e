import { isIP } from 'node:net'
import { parse } from 'ipaddr.js'
import type { Dispatcher } from 'undici'
import type { Lookup } from '../config/server.ts'
import { Problem } from '../contract/errors.ts'
import { isPlatformAddress, isPlatformName } from './platformAddresses.ts'
import { EgressRefused, fewAtOnce, guardLookup } from './guardedLookup.ts'

/** The allowed targets of requests to addresses that users, not the operator, have entered. */
export interface EgressPolicy {
  /**
   * Rejects a URL that leads to this machine or its network. A name that does not resolve now is allowed: it is
   * checked again at each connection.
   * @throws Problem WEBHOOK_TARGET_REFUSED
   */
  requireAllowed(url: string): Promise<void>
  /** Connects only to checked addresses, which defeats DNS rebinding. */
  dispatcher(): Promise<Dispatcher>
  close(): Promise<void>
}

const lookupTimeoutMs = 5000
const connectTimeoutMs = 10_000

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
 * Whether an address is on the public Internet, by the registries of special-purpose addresses. Excludes mapped, translated and
 * tunnelled addresses, IPv6 outside of 2000::/3, and the metadata services of clouds.
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

/** Checks each host and address right before the connection to it. Literal addresses are not resolved. */
async function makeAgent(isRefused: (address: string) => boolean, lookup: Lookup): Promise<Dispatcher> {
  const { Agent, buildConnector } = await import('../client/undici.ts')
  const connect = buildConnector({ timeout: connectTimeoutMs, lookup: guardLookup(lookup, isRefused) } as Parameters<
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

/** The addresses of a name. Empty if the look-up finds nothing in time. */
function addressesOf(lookup: Lookup, host: string): Promise<string[]> {
  return new Promise(resolve => {
    const late = setTimeout(() => resolve([]), lookupTimeoutMs)
    lookup(host, { all: true }, (error, addresses) => {
      clearTimeout(late)
      resolve(error ? [] : addresses.map(({ address }) => address))
    })
  })
}

/** An IPv6 address has brackets in a URL. */
const hostOf = (hostname: string) => hostname.replace(/^\[(.*)\]$/, '$1')
