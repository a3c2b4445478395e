import type { IncomingMessage, Server } from 'node:http'
import type { Duplex } from 'node:stream'

/** The maximum number of headers. Node drops further ones, and a dropped one could be the length of the body. */
const maxHeaders = 1000

/**
 * Handles an upgrade to an unsupported protocol as a plain request (RFC 9110, 7.8). Java's HTTP client offers h2c with
 * its first request, `curl --http2` as well, and node emits 'upgrade' for every offer.
 */
export function declineUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
  const { server } = request.socket as unknown as { server?: Server }
  if (!server || request.rawHeaders.length > 2 * maxHeaders) return void socket.destroy()
  const lines = [`${request.method} ${request.url} HTTP/${request.httpVersion}`]
  for (let index = 0; index < request.rawHeaders.length; index += 2) {
    const [name, value] = [request.rawHeaders[index]!, request.rawHeaders[index + 1]!]
    if (/^connection$/i.test(name)) lines.push(`Connection: ${withoutOffer(value)}`)
    else if (!/^(upgrade|http2-settings)$/i.test(name)) lines.push(`${name}: ${value}`)
  }
  socket.unshift(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), head]))
  server.emit('connection', socket)
}

const withoutOffer = (connection: string) =>
  connection
    .split(',')
    .map(option => option.trim())
    .filter(option => !/^(upgrade|http2-settings)$/i.test(option))
    .join(', ') || 'keep-alive'
