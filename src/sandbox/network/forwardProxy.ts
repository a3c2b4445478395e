import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { authorityOf, parseAuthority } from '../../contract/networkHosts.ts'
import type { GuardedConnect, Target } from '../../egress/guardedConnect.ts'
import { EgressRefused } from '../../egress/guardedLookup.ts'
import type { AskedHosts } from './askedHosts.ts'
import { forwardRequest, framingOf, forwardUpgrade, joinStreams } from './forwardRequest.ts'
import type { HostRule } from './hostRules.ts'

/** The time limits for the head of a request and for silence. A model that is thinking sends nothing for minutes. */
const defaultTimeouts = { headMs: 10_000, idleMs: 15 * 60_000 }
const headSweeps = 4
const maxHeaderBytes = 16 * 1024

export interface ForwardProxyOptions {
  rule: HostRule
  connect: GuardedConnect
  asked: AskedHosts
  /** Explains how a user allows this host. */
  howToAllow(host: string): string
  /** The board, under a name that does not lead into the sandbox's own loopback. A tunnel to it ends in the server itself. */
  board: { target: Target; accept(socket: Socket): void }
  timeouts?: { headMs: number; idleMs: number }
}

/** The response to a refused request. */
class Refusal extends Error {
  readonly status: number
  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/**
 * The proxy of one sandbox: requests in absolute form, CONNECT, and upgrades through both, to the hosts that its rule allows. A
 * name is resolved here, once. Every request gets a separate connection, and is composed again from its parsed parts.
 */
export function createForwardProxy(options: ForwardProxyOptions): Server {
  const { headMs, idleMs } = options.timeouts ?? defaultTimeouts
  const server = createServer({
    maxHeaderSize: maxHeaderBytes,
    headersTimeout: headMs,
    connectionsCheckingInterval: headMs / headSweeps,
    // A body can take hours to arrive. A body that stalls counts as idle.
    requestTimeout: 0,
    insecureHTTPParser: false,
  })
  server.timeout = idleMs
  // By default, Node drops headers after the two thousandth.
  server.maxHeadersCount = 0
  server.on('request', (request, response) => {
    response.on('error', () => response.destroy())
    void open(options, () => requestTarget(request))
      .then(way => forwardRequest(request, response, { ...way, idleMs }))
      .catch((error: unknown) => refuseRequest(request, response, refusalOf(error)))
  })
  server.on('upgrade', (request, socket, head) => {
    socket.on('error', () => socket.destroy())
    void open(options, () => requestTarget(request))
      .then(way => forwardUpgrade(request, socket, head, { ...way, idleMs }))
      .catch((error: unknown) => answerRaw(socket, refusalOf(error)))
  })
  server.on('connect', (request, socket, head) => {
    socket.on('error', () => socket.destroy())
    void tunnel(options, request, socket as Socket, head, idleMs).catch((error: unknown) =>
      answerRaw(socket, refusalOf(error)),
    )
  })
  return server
}

async function tunnel(
  options: ForwardProxyOptions,
  request: IncomingMessage,
  socket: Socket,
  head: Buffer,
  idleMs: number,
): Promise<void> {
  const confirmTunnel = () => socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
  const { board } = options
  const target = tunnelTarget(request)
  if (target.host === board.target.host && target.port === board.target.port) {
    confirmTunnel()
    socket.setTimeout(0)
    if (head.length > 0) socket.unshift(head)
    board.accept(socket)
    return
  }
  const { upstream } = await open(options, () => target)
  confirmTunnel()
  upstream.write(head)
  joinStreams(socket, upstream, idleMs)
}

/** Connects to the target of a request, if the rule allows it. */
async function open(
  { rule, connect, asked, howToAllow }: ForwardProxyOptions,
  targetOf: () => Target,
): Promise<{ upstream: Socket; target: Target }> {
  const target = targetOf()
  const verdict = rule(target)
  const name = authorityOf(target.host, target.port)
  if (verdict === 'refused') {
    asked.note(target, false)
    throw new Refusal(403, `This agent cannot reach ${name}. ${howToAllow(entryFor(target))}`)
  }
  try {
    const upstream = await connect(target, verdict === 'trusted')
    asked.note(target, true)
    return { upstream, target }
  } catch (error) {
    if (error instanceof EgressRefused) {
      asked.note(target, false)
      throw new Refusal(
        403,
        `This agent cannot reach ${name}, because it is an address of this machine or a private network.`,
      )
    }
    asked.note(target, true)
    const { code } = error as NodeJS.ErrnoException
    throw new Refusal(code === 'ETIMEDOUT' ? 504 : 502, `${name} could not be reached${code ? ` (${code})` : ''}.`)
  }
}

const entryFor = ({ host, port }: Target) => authorityOf(host, port === 80 || port === 443 ? undefined : port)

function requestTarget(request: IncomingMessage): Target {
  const { url = '', method } = request
  const [, scheme, named] = /^([a-z]+):\/\/([^/?#\\]+)(?:[/?][^#\\\s]*)?$/i.exec(url) ?? []
  const found = named === undefined ? undefined : parseAuthority(named)
  if (!found || scheme!.toLowerCase() !== 'http')
    throw new Refusal(400, `This is a proxy: it accepts "${method} http://host/path" and CONNECT.`)
  if (!framingOf(request)) throw new Refusal(400, 'The proxy supports only the transfer coding "chunked".')
  return { host: found.host, port: found.port ?? 80 }
}

function tunnelTarget({ url = '' }: IncomingMessage): Target {
  const found = parseAuthority(url)
  if (found?.port === undefined) throw new Refusal(400, 'CONNECT requires host:port.')
  return { host: found.host, port: found.port }
}

const refusalOf = (error: unknown): Refusal =>
  error instanceof Refusal ? error : new Refusal(502, 'The request could not be forwarded.')

const headersOf = (text: string) => ({
  'content-type': 'text/plain; charset=utf-8',
  'content-length': String(Buffer.byteLength(text)),
  connection: 'close',
})

function refuseRequest(request: IncomingMessage, response: ServerResponse, { status, message }: Refusal): void {
  const text = `board: ${message}\n`
  if (response.headersSent) return void response.destroy()
  request.resume()
  response.writeHead(status, headersOf(text)).end(text)
}

function answerRaw(socket: Duplex, { status, message }: Refusal): void {
  const text = `board: ${message}\n`
  const lines = Object.entries(headersOf(text)).map(([name, value]) => `${name}: ${value}\r\n`)
  const reason = status === 403 ? 'Forbidden' : status === 400 ? 'Bad Request' : 'Bad Gateway'
  socket.once('finish', () => socket.destroy())
  socket.end(`HTTP/1.1 ${status} ${reason}\r\n${lines.join('')}\r\n${text}`)
}
