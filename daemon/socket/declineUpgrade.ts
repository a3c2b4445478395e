import type { IncomingMessage, Server } from 'node:http'
import type { Duplex } from 'node:stream'

/** Node keeps this many headers of a request and drops the rest, so that more could hide how long the body is. */
const maxHeaders = 1000

/**
 * Lets the node server answer a request that offers some other protocol, as if it did not (RFC 9110, 7.8). Java's HTTP client
 * offers h2c with its first request, `curl --http2` as well, and node calls every offer an upgrade.
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
