import { request as requestHttp, type ClientRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { pipeline, type Duplex } from 'node:stream'
import { authorityOf } from '../../contract/networkHosts.ts'
import type { Target } from '../../egress/guardedConnect.ts'

interface Way {
  upstream: Socket
  target: Target
  idleMs: number
}

/** Headers of one connection instead of the request (RFC 9110, 7.6.1), and headers for a proxy. */
const hopByHop: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authentication-info',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])
/** Headers with the target of a request and the end of its body, which are composed again from their parsed values. */
const rewritten: ReadonlySet<string> = new Set(['host', 'content-length', 'expect'])
const bodyless: ReadonlySet<string> = new Set(['GET', 'HEAD', 'DELETE', 'OPTIONS', 'TRACE'])

/** Sends a request over a separate connection and streams the response. Does not follow redirects. */
export function forwardRequest(request: IncomingMessage, response: ServerResponse, way: Way): void {
  if (response.destroyed) return void way.upstream.destroy()
  const framing = framingOf(request)
  const outgoing = createForward(request, way, framing && [...framing, 'Connection', 'close'])
  if (!outgoing) {
    request.resume()
    return fail(response, 400, 'The request could not be forwarded unchanged.')
  }
  outgoing.once('response', incoming => {
    try {
      response.sendDate = false
      response.writeHead(incoming.statusCode!, incoming.statusMessage, answerHeaders(incoming))
    } catch {
      outgoing.destroy()
      return fail(response, 502, 'The response could not be forwarded.')
    }
    pipeline(incoming, response, error => error && response.destroy())
  })
  outgoing.on('error', () => fail(response, 502, `${authorityOf(way.target.host, way.target.port)} did not respond.`))
  response.once('close', () => way.upstream.destroy())
  pipeline(request, outgoing, error => error && outgoing.destroy())
}

/** Requests another protocol, and joins both ends once the other side agrees. Until then, nothing of the new protocol is sent. */
export function forwardUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer, way: Way): void {
  const { upgrade = '', 'content-length': length = '0', 'transfer-encoding': coding } = request.headers
  const mayPass = request.method === 'GET' && Number(length) === 0 && coding === undefined
  const outgoing = createForward(request, way, mayPass ? upgradeHeaders(upgrade) : undefined)
  if (!outgoing) {
    way.upstream.destroy()
    return void socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n')
  }
  outgoing.once('upgrade', (incoming: IncomingMessage, upstream: Socket, first: Buffer) => {
    socket.write(headOf(incoming, upgradeHeaders(incoming.headers.upgrade ?? upgrade)), 'latin1')
    socket.write(first)
    upstream.write(head)
    joinStreams(socket, upstream, way.idleMs)
  })
  outgoing.once('response', (incoming: IncomingMessage) => {
    socket.write(headOf(incoming, ['Connection', 'close']), 'latin1')
    pipeline(incoming, socket, () => socket.destroy())
  })
  outgoing.on('error', () => socket.destroy())
  socket.once('close', () => way.upstream.destroy())
  outgoing.end()
}

/** Joins two connections until both have ended, one is broken, or both are idle for `idleMs`. */
export function joinStreams(one: Duplex, other: Socket, idleMs: number): void {
  const end = () => {
    one.destroy()
    other.destroy()
  }
  one.on('error', end)
  other.on('error', end).setTimeout(idleMs, end)
  pipeline(one, other, error => error && end())
  pipeline(other, one, error => error && end())
}

/** Undefined if the framing is unknown, or a header or the path cannot be sent. */
function createForward(
  request: IncomingMessage,
  { upstream, target, idleMs }: Way,
  framing: readonly string[] | undefined,
): ClientRequest | undefined {
  upstream.setTimeout(idleMs, () => upstream.destroy())
  try {
    if (!framing) throw new Error('The framing of the body is unknown.')
    const headers = passedOn(request, rewritten)
    const outgoing = requestHttp({
      createConnection: () => upstream,
      method: request.method,
      path: pathOf(request.url!),
      headers: ['Host', authorityOf(target.host, target.port === 80 ? undefined : target.port), ...headers, ...framing],
    })
    // A paused connection would stay paused.
    return outgoing.once('socket', socket => socket.resume())
  } catch {
    upstream.destroy()
    return undefined
  }
}

const pathOf = (url: string): string => {
  const path = /^(?:[a-z]+:\/\/[^/?#]*)?(.*)$/i.exec(url)![1]!
  return path.startsWith('/') ? path : `/${path}`
}

/**
 * Returns the headers that mark the end of the body for the other side, as in the original request. Undefined for a transfer encoding other
 * than `chunked`.
 */
export function framingOf({ method = '', headers }: IncomingMessage): string[] | undefined {
  const { 'content-length': length, 'transfer-encoding': coding } = headers
  if (coding !== undefined) return coding.toLowerCase() === 'chunked' ? ['Transfer-Encoding', 'chunked'] : undefined
  if (length !== undefined) return ['Content-Length', length]
  return bodyless.has(method) ? [] : ['Content-Length', '0']
}

const upgradeHeaders = (protocol: string) => ['Connection', 'Upgrade', 'Upgrade', protocol]

/** Returns the headers to forward: all except the headers of the connection, those that its `Connection` header names, and `others`. */
function passedOn({ rawHeaders, headers }: IncomingMessage, others: ReadonlySet<string>): string[] {
  const named = new Set((headers.connection ?? '').toLowerCase().split(/\s*,\s*/))
  named.delete('content-length')
  return rawHeaders.filter((_, at) => {
    const name = rawHeaders[at - (at % 2)]!.toLowerCase()
    return !hopByHop.has(name) && !named.has(name) && !others.has(name)
  })
}

const answerHeaders = (incoming: IncomingMessage): string[] =>
  passedOn(incoming, new Set(incoming.headers['transfer-encoding'] === undefined ? [] : ['content-length']))

function headOf(incoming: IncomingMessage, framing: readonly string[]): string {
  const all = [...answerHeaders(incoming), ...framing]
  const lines = all.map((text, at) => (at % 2 === 0 ? `${text}: ` : `${text}\r\n`))
  return `HTTP/1.1 ${incoming.statusCode} ${incoming.statusMessage}\r\n${lines.join('')}\r\n`
}

function fail(response: ServerResponse, status: number, message: string): void {
  if (response.headersSent) return void response.destroy()
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', connection: 'close' })
  response.end(`board: ${message}\n`)
}
