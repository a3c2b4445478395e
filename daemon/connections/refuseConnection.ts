import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Problem } from '../../src/contract/errors.ts'
import { commonHeaders, presentFailure } from '../http/response.ts'
import { nextRequestId } from '../http/requestId.ts'

/** Answers a failure on a connection that has no response object, and closes the connection. Returns the request ID. */
export function refuseConnection(socket: Duplex, problem: Problem): string {
  const requestId = nextRequestId()
  const answer = presentFailure(problem, requestId, commonHeaders(requestId))
  const { status, headers, text } = answer as Exclude<typeof answer, Response>
  const lines = Object.entries({
    ...headers,
    'content-length': String(Buffer.byteLength(text)),
    date: new Date().toUTCString(),
    connection: 'close',
  }).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.once('finish', () => socket.destroy())
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${text}`)
  return requestId
}
