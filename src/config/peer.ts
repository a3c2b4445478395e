import type { IncomingMessage } from 'node:http'
import { parse } from 'ipaddr.js'
import type { ServerConfig } from './server.ts'

export interface Peer {
  address: string
  isLoopback: boolean
}

/**
 * Tells who is at the other end of a request. With `trustProxy` the last entry of `X-Forwarded-For` counts: the one that
 * the nearest proxy wrote. Such a peer is never loopback, so that a proxy cannot lend its own place to everybody; nor is one that
 * comes through a proxy which is not trusted but says that it is there.
 */
export function peerReader(config: Pick<ServerConfig, 'trustProxy'>): (request: IncomingMessage) => Peer {
  return request => {
    const forwarded = config.trustProxy ? request.headers['x-forwarded-for'] : undefined
    const last = forwarded === undefined ? undefined : String(forwarded).split(',').at(-1)!.trim()
    if (last !== undefined) return { address: last.slice(0, 100), isLoopback: false }
    const address = request.socket.remoteAddress ?? ''
    return {
      address,
      isLoopback: isLoopbackAddress(address) && !proxyHeaders.some(name => request.headers[name] !== undefined),
    }
  }
}

const proxyHeaders = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip', 'via']

function isLoopbackAddress(address: string): boolean {
  if (address === '127.0.0.1') return true
  try {
    const parsed = parse(address)
    const plain =
      parsed.kind() === 'ipv6' && 'isIPv4MappedAddress' in parsed && parsed.isIPv4MappedAddress()
        ? parsed.toIPv4Address()
        : parsed
    return plain.range() === 'loopback'
  } catch {
    return false
  }
}
