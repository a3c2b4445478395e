import { connect, isIP, type Socket, type TcpNetConnectOpts } from 'node:net'
import { networkInterfaces } from 'node:os'
import { parse } from 'ipaddr.js'
import type { Lookup } from '../config/server.ts'
import { isPublicAddress } from './egressPolicy.ts'
import { EgressRefused, fewAtOnce, guardLookup } from './guardedLookup.ts'
import { isPlatformName } from './platformAddresses.ts'

const connectTimeoutMs = 10_000

export interface Target {
  host: string
  port: number
}
/**
 * Connects to a host of the public Internet, or with `mayBePrivate` to any. Each address of a name is checked, once, and only checked
 * addresses are used.
 * @throws EgressRefused, or the error of the connection
 */
export type GuardedConnect = (target: Target, mayBePrivate?: boolean) => Promise<Socket>

/** @param dial opens the connection to the checked addresses */
export function createGuardedConnect(
  lookupAddress: Lookup,
  dial: (options: TcpNetConnectOpts) => Socket = connect,
): GuardedConnect {
  const lookup = fewAtOnce(lookupAddress)
  return async ({ host, port }, mayBePrivate = false) => {
    const isRefused = mayBePrivate ? () => false : (address: string) => !isPublicAddress(address) || isOwn(address)
    if (!mayBePrivate && (isPlatformName(host) || (isIP(host) && isRefused(host)))) throw new EgressRefused()
    return untilConnected(
      dial({ host, port, lookup: guardLookup(lookup, isRefused), allowHalfOpen: true, noDelay: true }),
    )
  }
}

function untilConnected(socket: Socket): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const late = setTimeout(
      () => socket.destroy(Object.assign(new Error('The connection took too long.'), { code: 'ETIMEDOUT' })),
      connectTimeoutMs,
    )
    socket.once('connect', () => {
      clearTimeout(late)
      // From now on, the close event reports errors.
      socket.on('error', () => {})
      resolve(socket)
    })
    socket.once('error', reject)
    socket.once('close', () => clearTimeout(late))
  })
}

/** A public address of this machine leads to services that a firewall hides from the Internet. */
const isOwn = (address: string): boolean =>
  Object.values(networkInterfaces()).some(each => each?.some(own => normal(own.address) === normal(address)))

const normal = (address: string): string => parse(address).toNormalizedString()
