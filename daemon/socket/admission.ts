import type { IncomingMessage } from 'node:http'
import type { App } from '../../src/app.ts'
import { Problem } from '../../src/contract/errors.ts'
import { contract } from '../../src/contract/index.ts'
import { authenticate } from '../../src/identity/authenticate.ts'
import type { Caller } from '../../src/domain/accounts/caller.ts'
import { hostOriginGuard } from '../http/hostOriginGuard.ts'

/** The authenticated client of a socket. */
export interface Admitted {
  caller: Caller
  /** Authenticates its token again. @throws Problem UNAUTHENTICATED, TOKEN_EXPIRED */
  renew(): Promise<Caller>
}
/** The client, or why the socket is closed with 4001 right after it opened. */
export type Admission = Admitted | { refusal: string }

const { path } = contract.server.socket

/**
 * Authenticates a request for a socket (specification "Events"). The token comes in `Authorization`; from clients that cannot set headers
 * as the subprotocol `bearer.<token>`, offered after `board`, or in the query, where proxies log it. A missing or invalid token is reported
 * after the upgrade, because browsers hide a refused upgrade.
 * @throws Problem NOT_FOUND, HOST_NOT_ALLOWED, ORIGIN_NOT_ALLOWED
 */
export async function admitSocket(
  app: Pick<App, 'catalogue' | 'config' | 'db' | 'identity' | 'peerOf'>,
  request: IncomingMessage,
): Promise<Admission> {
  const [requestPath, query = ''] = splitOnce(request.url ?? '', '?')
  if (requestPath !== path) throw new Problem('NOT_FOUND')
  hostOriginGuard(app, request)
  const token = offeredToken(request) ?? new URLSearchParams(query).get('token')
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

/** The selected subprotocol; the other offered one holds the token. */
export const subprotocol = 'board'
export const protocolHeader = 'sec-websocket-protocol'

const offeredProtocols = ({ headers }: IncomingMessage): string[] =>
  headers[protocolHeader]?.split(',').map(each => each.trim()) ?? []
export const offersBoard = (request: IncomingMessage): boolean => offeredProtocols(request).includes(subprotocol)

/** The token of a browser, which can offer subprotocols but set no header. */
function offeredToken(request: IncomingMessage): string | null {
  const bearer = offersBoard(request) && offeredProtocols(request).find(each => each.startsWith('bearer.'))
  return bearer ? bearer.slice('bearer.'.length) : null
}

function splitOnce(text: string, separator: string): [string, string?] {
  const at = text.indexOf(separator)
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)]
}
