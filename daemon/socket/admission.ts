import { STATUS_CODES, type IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { App } from '../../src/app.ts'
import { errors, Problem } from '../../src/contract/errors.ts'
import { authenticate } from '../../src/identity/authenticate.ts'
import type { Caller } from '../../src/domain/caller.ts'
import { guard } from '../guard.ts'

/** Who opens a socket. */
export interface Admitted {
  caller: Caller
  /** Tells anew whose token it is. @throws Problem UNAUTHENTICATED, TOKEN_EXPIRED once it has ended */
  renew(): Promise<Caller>
}
/** Who opens a socket, or why it is closed with 4001 as soon as it is open. */
export type Admission = Admitted | { refusal: string }

const path = '/api/ws'

/**
 * Looks at a request to open a socket (specification "Events"). The token comes in the query, for clients that cannot set
 * headers, or in `Authorization`. A missing or bad one is told after the upgrade: a browser cannot see a refused one.
 * @throws Problem NOT_FOUND, HOST_NOT_ALLOWED, ORIGIN_NOT_ALLOWED
 */
export async function admit(app: App, request: IncomingMessage): Promise<Admission> {
  const [requestPath, query = ''] = splitOnce(request.url ?? '', '?')
  if (requestPath !== path) throw new Problem('NOT_FOUND')
  guard(app, request)
  const token = new URLSearchParams(query).get('token')
  const authorization = token === null ? request.headers.authorization : `Bearer ${token}`
  const peer = app.peerOf(request)
  const renew = () => authenticate(app, authorization, peer)
  try {
    return { caller: await renew(), renew }
  } catch (error) {
    if (error instanceof Problem && error.status === 401) return { refusal: error.message }
    throw error
  }
}

/** Answers a request that does not become a socket, and closes its connection. */
export function refuse(socket: Duplex, problem: Problem): void {
  const body = JSON.stringify({ error: problem })
  const status = errors[problem.code][0]
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'X-Content-Type-Options: nosniff',
    'Cache-Control: no-store',
    'Connection: close',
    ...(problem.retryAfterSecs === undefined ? [] : [`Retry-After: ${problem.retryAfterSecs}`]),
  ]
  socket.once('finish', () => socket.destroy())
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
}

function splitOnce(text: string, separator: string): [string, string?] {
  const at = text.indexOf(separator)
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)]
}
