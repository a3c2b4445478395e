import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { parse } from 'ipaddr.js'
import { isFromSandbox } from './sandboxSockets.ts'
import type { ServerConfig } from '../config/server.ts'
import { ownPeerReader, type IsOwnPeer } from '../system/socketOwner.ts'

/** The other end of a request. */
export interface Peer {
  address: string
  /**
   * Whether the peer is known to run on this machine under the server's own account. Everything that the server allows without a
   * token depends on this check, not on the address, because other accounts and plain proxies also connect from 127.0.0.1.
   */
  isOwn(): Promise<boolean>
}

/**
 * Identifies the peer of a request. With `trustProxy`, the last entry of `X-Forwarded-For` counts, which the nearest proxy wrote. Such a
 * peer is never the server's own account, so that a proxy cannot pass its own permissions on to its clients. Neither is a peer behind an
 * untrusted proxy that adds forwarding headers, or one in a sandbox.
 */
export function peerReader(
  config: Pick<ServerConfig, 'trustProxy' | 'socketTables'>,
): (request: IncomingMessage) => Peer {
  const isOwnPeer = ownPeerReader(config.socketTables)
  return request => {
    if (isFromSandbox(request.socket)) return sandboxPeer
    const forwarded = config.trustProxy ? request.headers['x-forwarded-for'] : undefined
    if (forwarded === undefined) return new DirectPeer(request, isOwnPeer)
    return new StrangePeer(String(forwarded).split(',').at(-1)!.trim().slice(0, 100))
  }
}

/** Peers are classes because every request creates one, and methods of an object literal would be created each time. */
class DirectPeer implements Peer {
  readonly address: string
  readonly #socket: Socket
  readonly #request: IncomingMessage
  readonly #isOwnPeer: IsOwnPeer

  constructor(request: IncomingMessage, isOwnPeer: IsOwnPeer) {
    this.#request = request
    this.#socket = request.socket
    this.#isOwnPeer = isOwnPeer
    this.address = request.socket.remoteAddress ?? ''
  }

  async isOwn(): Promise<boolean> {
    return (
      isLoopbackAddress(this.address) && !isForwarded(this.#request.headers) && (await this.#isOwnPeer(this.#socket))
    )
  }
}

class StrangePeer implements Peer {
  readonly address: string
  constructor(address: string) {
    this.address = address
  }

  async isOwn(): Promise<boolean> {
    return false
  }
}

/** The addresses of a sandbox belong to a separate network, and its headers are ignored. */
const sandboxPeer: Peer = new StrangePeer('sandbox')

/** The headers with which proxies and tunnels state that they forward a request, and for whom. */
const forwardingHeaders = new Set([
  'forwarded',
  'via',
  'x-real-ip',
  'x-client-ip',
  'x-cluster-client-ip',
  'x-original-forwarded-for',
  'x-envoy-external-address',
  'true-client-ip',
  'cf-connecting-ip',
  'fastly-client-ip',
])
const isForwarded = (headers: IncomingMessage['headers']) =>
  Object.keys(headers).some(name => forwardingHeaders.has(name) || name.startsWith('x-forwarded'))

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
