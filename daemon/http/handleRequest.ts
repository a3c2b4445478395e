import type { H3Event } from 'h3'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { App } from '../../src/app.ts'
import { Problem } from '../../src/contract/errors.ts'
import type { Caller } from '../../src/domain/accounts/caller.ts'
import { authenticate } from '../../src/identity/authenticate.ts'
import type { RequestLimit } from '../limits/requestLimit.ts'
import { clientAddress, forwardCheckOf } from '../peers/forwardCheck.ts'
import { AuditTrail, type AuditDependencies } from './auditTrail.ts'
import { isOpenTo } from './authorize.ts'
import { callEndpoint, explainFailedWrite, type Endpoint, type EndpointDependencies } from './callEndpoint.ts'
import { presentCsv, wantsCsv } from './csv.ts'
import { beginExchange, sendError, sendAnswer, type Exchange, type Note, type Responder } from './exchange.ts'
import { Json } from './handlers.ts'
import { hostOriginGuard } from './hostOriginGuard.ts'
import { peekId } from './pathParams.ts'
import { RequestCall } from './requestCall.ts'
import { readInput, type BodyBudgets } from './requestInput.ts'
import { toAnswer, type Answer } from './response.ts'

/** The dependencies that all requests share. */
export interface Server {
  app: EndpointDependencies & AuditDependencies & Responder['app'] & Pick<App, 'catalogue' | 'identity'>
  note: Note
  keyLimit: RequestLimit
  agentLimit: RequestLimit
  bodies: BodyBudgets
}

/** Answers requests to one row of the contract. All failures are answered in the error envelope. */
export const requestHandler = (server: Server, endpoint: Endpoint) => async (event: H3Event) => {
  const { req, res } = event.runtime!.node as { req: IncomingMessage; res: ServerResponse }
  const exchange = beginExchange(req, res, endpoint.route)
  try {
    return sendAnswer(server, exchange, await answerRequest(server, endpoint, exchange, event.context.params ?? {}))
  } catch (error) {
    const explained = await explainFailedWrite(server.app, exchange, error)
    // A refused sign-in is in the audit log before it is answered.
    if (explained instanceof Problem) await exchange.audit?.recordRefusal(explained)
    return sendError(server, exchange, explained)
  }
}

/**
 * The pipeline of a request, from top to bottom: guard, authenticate, limit, authorize, forward, validate, call,
 * present.
 */
async function answerRequest(
  server: Server,
  endpoint: Endpoint,
  exchange: Exchange,
  rawParams: Readonly<Record<string, string>>,
): Promise<Answer> {
  const { app } = server
  const { route, audited } = endpoint
  const { req, res, headers } = exchange

  hostOriginGuard(app, req, route.anyHost)
  if (dotSegments.test(req.url ?? '')) {
    exchange.route = undefined
    throw new Problem('NOT_FOUND')
  }

  const peer = app.peerOf(req)
  const isOpen = await isOpenTo(route, peer)
  const caller = isOpen
    ? nobody
    : (exchange.caller = await authenticate(
        app,
        req.headers.authorization,
        peer,
        peekId(rawParams[endpoint.projectParam]),
        forwardCheckOf(app, req),
      ))

  if (route.rateLimit === 'apiKey' && caller.key) await server.keyLimit(caller.key.id, headers)
  if (caller.agent) await server.agentLimit(caller.agent.sessionId ?? caller.tokenHash, headers)

  const params = (exchange.input = endpoint.readParams(rawParams))
  const call = new RequestCall(app.db, route, req, res, caller, peer, clientAddress(app, req, peer))
  if (audited && req.method !== 'HEAD')
    exchange.audit = new AuditTrail(app, audited, isOpen ? undefined : caller, call.address)

  const { passed, claim, result } = await callEndpoint(app, endpoint, call, {
    params,
    isOpen,
    audit: exchange.audit,
    read: async () => {
      const read = await readInput(app, server.bodies, route, call, { params, isStranger: isOpen })
      exchange.input = read.input
      return read
    },
  })
  if (passed) return toAnswer(passed, passed.status, headers)
  if (claim?.replay) return toAnswer(JSON.parse(claim.replay.text), route.status, headers)
  if (wantsCsv(route, req.headers)) return presentCsv(route, result as readonly object[], headers)
  // The ETag of a replayed answer is computed from the object. The first answer must have the same one.
  return toAnswer(claim && result instanceof Json ? JSON.parse(result.text) : result, route.status, headers)
}

/** The router resolves dots and backslashes in a path, but a proxy in front might not. They would then disagree on the path. */
const dotSegments = /^[^?]*(?:\\|\/(?:\.|%2e){1,2}(?:[/?#]|$))/i

/** The caller of an open route. Its token is not checked. */
const nobody: Caller = { kind: 'user', userId: -1, role: 'user', email: '', displayName: '', tokenHash: '' }
