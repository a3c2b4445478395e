import type { ChildProcess } from 'node:child_process'
import { Server, type Socket } from 'node:net'
import { isLoopbackHost } from '../../contract/networkHosts.ts'
import type { GuardedConnect, Target } from '../../egress/guardedConnect.ts'
import { createAskedHosts, type AskedHost } from './askedHosts.ts'
import { createForwardProxy, type ForwardProxyOptions } from './forwardProxy.ts'
import { createHostRule } from './hostRules.ts'
import { createInboundRelay, withRelay, type InboundRelay } from './inboundRelay.ts'
import { listenBefore, type ListenAt } from './listener.ts'

/** npm opens 15 connections at once. */
const maxProxyConnections = 128
const maxBoardConnections = 64
/** The ports of the proxy and the relay. The board itself can use one of them. */
const ownPorts = [3128, 3129, 3130] as const
/** Lower ports require a capability that processes inside lack. */
const firstFreePort = 1024
const movedPorts = 40_000

export interface SandboxNetworkOptions {
  /** listed: the board and the hosts in `allowed` and `trusted`. none: only the board. */
  network: 'listed' | 'none'
  /** The address of the server outside the sandbox. */
  boardUrl: string
  /** Accepts a connection to the board from the sandbox. */
  acceptForBoard(socket: Socket): void
  /** The project's list, in the syntax of `contract/networkHosts.ts`, and hosts of an agent, such as those of its model. */
  allowed: readonly string[]
  /** URLs of model endpoints that the operator chose. They can be in a private network. */
  trusted: readonly string[]
  connect: GuardedConnect
  /** The last sentence of a refusal. It explains how a user adds this entry to the list. */
  howToAllow(entry: string): string
  /** Called on the first request for each host. */
  onAsked?(asked: AskedHost): void
  /** Ports inside to which the server connects, because users access the services there. */
  served?: readonly number[]
  timeouts?: ForwardProxyOptions['timeouts']
}

/** The network of a session's sandbox: a namespace with only loopback, in which this server listens. */
export interface SandboxNetwork {
  /** The address of the board inside. */
  boardUrl: string
  /** The network variables of a process inside, which override the server's own environment. */
  env: Record<string, string>
  /** Returns the command to run inside instead of `argv`. It opens the network first and then becomes `argv`. */
  wrap(argv: readonly string[]): string[]
  /** Takes over the listeners inside: the `withChannel` of the process that runs a wrapped command in a network namespace. */
  attach(child: ChildProcess): void
  /** The hosts that have been requested so far. */
  asked(): AskedHost[]
  /** Connects to one of the served ports, by its index. */
  connectInside: InboundRelay['connect']
}

export function openSandboxNetwork(options: SandboxNetworkOptions): SandboxNetwork {
  const { network, acceptForBoard, connect, howToAllow, onAsked = () => {}, served = [], timeouts } = options
  const { url, listenAt, target } = insideUrl(options.boardUrl)
  const asked = createAskedHosts(onAsked)
  const rule = network === 'none' ? () => 'refused' as const : createHostRule(options.allowed, options.trusted)
  const [proxyPort, relayPort] = ownPorts.filter(port => port !== listenAt.port) as [number, number]
  const board = { target, accept: acceptForBoard }
  const relay = createInboundRelay()
  const isServed = served.length > 0
  const places = [listenAt, ...[proxyPort, ...(isServed ? [relayPort] : [])].map(port => ({ host: '127.0.0.1', port }))]
  return {
    boardUrl: url,
    env: environmentOf(`http://127.0.0.1:${proxyPort}`),
    wrap: argv => listenBefore(places, isServed ? withRelay(relayPort, served, argv) : argv),
    attach: child =>
      takeListeners(child, [
        listener => {
          listener.maxConnections = maxBoardConnections
          listener.allowHalfOpen = true
          return listener.on('connection', acceptForBoard)
        },
        listener => {
          const proxy = createForwardProxy({ rule, connect, asked, howToAllow, board, timeouts })
          proxy.maxConnections = maxProxyConnections
          return proxy.listen(listener)
        },
        ...(isServed
          ? [
              (listener: Server & HalfOpen) => {
                listener.allowHalfOpen = true
                return relay.attach(listener)
              },
            ]
          : []),
      ]),
    asked: asked.list,
    connectInside: relay.connect,
  }
}

/** Passes each listener of the child to its receiver, closes the channel after the last one, and closes all of them when the child ends. */
function takeListeners(child: ChildProcess, takers: ReadonlyArray<(listener: Server & HalfOpen) => Server>): void {
  const sockets = new Set<Socket>()
  const servers: Server[] = []
  child.on('message', (_, listener) => {
    const take = takers[servers.length]
    if (!take || !(listener instanceof Server)) return child.disconnect()
    const server = take(listener as Server & HalfOpen)
    server.on('error', () => {
      /* A connection could not be accepted, but the next one might be. */
    })
    server.prependListener('connection', (socket: Socket) => {
      sockets.add(socket)
      socket.once('close', () => sockets.delete(socket))
    })
    if (servers.push(server) === takers.length) child.disconnect()
  })
  child.once('exit', () => {
    for (const server of servers) server.close()
    for (const socket of sockets) socket.destroy()
  })
}

/** A property that Node reads at each connection, but that its types omit. */
interface HalfOpen {
  allowHalfOpen: boolean
}

/**
 * The address of the board inside. For a loopback name, the board listens there. The name of a certificate is unchanged, and
 * leads through the proxy.
 */
function insideUrl(boardUrl: string): { url: string; listenAt: ListenAt; target: Target } {
  const url = new URL(boardUrl)
  const outer = Number(url.port || (url.protocol === 'https:' ? 443 : 80))
  const port = outer < firstFreePort ? outer + movedPorts : outer
  if (isLoopbackHost(url.hostname)) url.port = String(port)
  else if (url.protocol === 'http:') Object.assign(url, { hostname: '127.0.0.1', port: String(port) })
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  return {
    url: url.href.replace(/\/$/, ''),
    listenAt: { host: isLoopbackHost(host) && !host.endsWith('localhost') ? host : '127.0.0.1', port },
    target: { host, port: Number(url.port || outer) },
  }
}

function environmentOf(proxy: string): Record<string, string> {
  const direct = 'localhost,127.0.0.1,::1'
  const variables = { HTTP_PROXY: proxy, HTTPS_PROXY: proxy, ALL_PROXY: proxy, NO_PROXY: direct }
  return {
    ...variables,
    ...Object.fromEntries(Object.entries(variables).map(([name, value]) => [name.toLowerCase(), value])),
    // From Node 24 on, its own fetch uses the proxy variables.
    NODE_USE_ENV_PROXY: '1',
  }
}
