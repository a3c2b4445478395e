import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { parse } from 'ipaddr.js'
import { isFromSandbox } from './sandboxSockets.ts'
import type { ServerConfig } from '../config/server.ts'
import { ownPeerReader, type IsOwnPeer } from '../system/socketOwner.ts'

/** Who is at the other end of a request. */
export interface Peer {
  address: string
  /**
   * Whether it runs on this machine under the server's own account, as far as that can be told. Everything that the server
   * allows without a token asks this, and not for the address: other accounts and plain proxies come from 127.0.0.1 as well.
   */
  isOwn(): Promise<boolean>
}

/**
 * Tells who is at the other end of a request. With `trustProxy` the last entry of `X-Forwarded-For` counts: the one that
 * the nearest proxy wrote. Such a peer is never the server's own, so that a proxy cannot lend its own place to everybody; nor is
 * one that comes through a proxy which is not trusted but says that it is there, or out of a sandbox.
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

/** Peers are classes because every request makes one: methods of an object literal would be made anew each time. */
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

/** Its addresses are those of a network of its own, and what it says of itself counts for nothing. */
const sandboxPeer: Peer = new StrangePeer('sandbox')

/** By these headers proxies and tunnels say that they pass a request on, and for whom. */
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
