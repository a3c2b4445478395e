import type { IncomingMessage } from 'node:http'
import { PassThrough, type Readable } from 'node:stream'
import type { Route } from '../../src/contract/route.ts'
import type { Caller } from '../../src/domain/accounts/caller.ts'
import { wouldStart, type NewCard } from '../../src/domain/cards/cards.ts'
import { clientAddressHeader, forwardTokenHeader, signClientAddress } from '../../src/identity/forwardTokens.ts'
import { projectOf } from '../http/authorize.ts'
import type { Call } from '../http/handlers.ts'
import {
  forwardTimeoutMs,
  peerConnections,
  findLeaseHolder,
  forwardedByHeader,
  machineUnavailable,
  signForwarded,
  type PeerDependencies,
} from './peers.ts'

/** Headers of a single connection, and those that the other daemon sets itself. */
const ownHeaders = new Set([
  'connection',
  'keep-alive',
  'transfer-encoding',
  'te',
  'trailer',
  'upgrade',
  'proxy-authorization',
  'proxy-authenticate',
  'host',
  'origin',
  'expect',
  'authorization',
  'cookie',
  'content-length',
  forwardTokenHeader,
  clientAddressHeader,
  forwardedByHeader,
])
/** The timeout of a plain write. */
const writeMs = 2500

/**
 * Forwards a request to the daemon of the machine that has the project's folder, if the route needs that machine and it is not this one.
 * Returns undefined if this daemon answers the request.
 * @param body the fields of the body, if they have been read already
 * @param message the message of the call, which is sent in place of the fields
 * @throws Problem MACHINE_UNAVAILABLE if no daemon currently runs on that machine
 */
export async function forwardRequest(
  peers: PeerDependencies,
  route: Route,
  call: Call,
  input: Record<string, unknown>,
  { body, message = body }: { body?: unknown; message?: unknown } = {},
): Promise<Response | undefined> {
  if (route.at === undefined || !peers.db.isShared) return undefined
  // Any daemon can create a card that starts no agent, which avoids forwarding.
  const card = route.at === 'machine or here, if it starts' ? (body as NewCard) : undefined
  if (card?.deferred) return undefined
  const projectId = await projectOf(peers.db, route, input)
  const worker = projectId === undefined ? undefined : await findLeaseHolder(peers, projectId, route.at === 'machine')
  if (
    !worker ||
    worker.host === null ||
    worker.daemonId === peers.membership.id ||
    (worker.host === peers.db.host && peers.membership.has('machine'))
  )
    return undefined
  if (card && !(await wouldStart(peers.db, card))) return undefined
  if (worker.url === null || call.request.headers[forwardedByHeader] !== undefined) {
    if (route.at === 'machine') throw machineUnavailable(worker.host)
    return undefined
  }
  return send(
    peers,
    call,
    {
      host: worker.host,
      url: worker.url,
      daemonId: worker.daemonId!,
      timeoutMs: route.at === 'machine' ? forwardTimeoutMs : writeMs,
    },
    message,
  )
}

async function send(
  peers: PeerDependencies,
  { caller, request: req, signal, address }: Call,
  to: { host: string; url: string; daemonId: string; timeoutMs: number },
  body: unknown,
): Promise<Response> {
  const { request, dispatcher } = await peerConnections(peers)
  const method = req.method as 'GET'
  // Piping a body ends its stream, so the request itself, still needed for the answer, is piped through another one.
  const sends = body !== undefined ? JSON.stringify(body) : hasBody(req) ? req.pipe(new PassThrough()) : undefined
  try {
    const answer = await request(to.url.replace(/\/$/, '') + req.url!, {
      method,
      dispatcher,
      signal,
      headersTimeout: to.timeoutMs,
      headers: headersFor(peers, caller, req, { ...to, address }),
      body: sends,
    })
    const isEmpty = method === ('HEAD' as string) || answer.statusCode === 204 || answer.statusCode === 304
    if (isEmpty) await answer.body.dump()
    const headers = Object.entries(answer.headers).flatMap(([name, value]) =>
      (ownHeaders.has(name) && name !== 'content-length') || value === undefined
        ? []
        : [[name, String(value)] as [string, string]],
    )
    return new Response(isEmpty ? null : streamOf(answer.body), { status: answer.statusCode, headers })
  } catch (error) {
    throw machineUnavailable(to.host, error)
  }
}

/** Not Readable.toWeb: it ends the process when the client disconnects. */
function streamOf(body: Readable): ReadableStream<Uint8Array> {
  const chunks = body[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>
  return new ReadableStream({
    pull: async controller => {
      const { done, value } = await chunks.next()
      if (done) controller.close()
      else controller.enqueue(value)
    },
    cancel: () => {
      body
        .on('error', () => {
          /* Aborted by the client. */
        })
        .destroy()
    },
  })
}

const hasBody = ({ headers }: IncomingMessage) =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0

/** Forwards a token, which every daemon can check; without one, this daemon signs the request. */
function headersFor(
  peers: Omit<PeerDependencies, 'db'>,
  caller: Caller,
  req: IncomingMessage,
  { daemonId, address }: { daemonId: string; address: string },
): Record<string, string> {
  const kept = Object.entries(req.headers).flatMap(([name, value]) =>
    ownHeaders.has(name) || value === undefined ? [] : [[name, Array.isArray(value) ? value.join(', ') : value]],
  )
  return {
    ...(Object.fromEntries(kept) as Record<string, string>),
    [forwardedByHeader]: peers.membership.id,
    [clientAddressHeader]: signClientAddress(peers.seal, address, { method: req.method!, url: req.url!, daemonId }),
    ...(caller.kind === 'local'
      ? signForwarded(peers, { method: req.method!, url: req.url!, daemonId })
      : { authorization: req.headers.authorization! }),
  }
}
