import type { IncomingMessage } from 'node:http'
import type { App } from '../../src/app.ts'
import { Problem } from '../../src/contract/errors.ts'
import { contract } from '../../src/contract/index.ts'
import { authenticate } from '../../src/identity/authenticate.ts'
import type { Caller } from '../../src/domain/caller.ts'
import { hostOriginGuard } from '../http/hostOriginGuard.ts'

/** Who opens a socket. */
export interface Admitted {
  caller: Caller
  /** Tells anew whose token it is. @throws Problem UNAUTHENTICATED, TOKEN_EXPIRED once it has ended */
  renew(): Promise<Caller>
}
/** Who opens a socket, or why it is closed with 4001 as soon as it is open. */
export type Admission = Admitted | { refusal: string }

const { path } = contract.server.socket

/**
 * Looks at a request to open a socket (specification "Events"). The token comes in the query, for clients that cannot set
 * headers, or in `Authorization`. A missing or bad one is told after the upgrade: a browser cannot see a refused one.
 * @throws Problem NOT_FOUND, HOST_NOT_ALLOWED, ORIGIN_NOT_ALLOWED
 */
export async function admit(app: App, request: IncomingMessage): Promise<Admission> {
  const [requestPath, query = ''] = splitOnce(request.url ?? '', '?')
  if (requestPath !== path) throw new Problem('NOT_FOUND')
  hostOriginGuard(app, request)
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

function splitOnce(text: string, separator: string): [string, string?] {
  const at = text.indexOf(separator)
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)]
}
