import type { H3Event } from 'h3'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { App } from '../../src/app.ts'
import { Problem } from '../../src/contract/errors.ts'
import { paramsOf, type Route } from '../../src/contract/route.ts'
import type { Caller } from '../../src/domain/caller.ts'
import { explainMissing } from '../../src/domain/missing.ts'
import { authenticate } from '../../src/identity/authenticate.ts'
import { ForeignKeyViolation } from '../../src/store/database.ts'
import type { KeyRateLimit } from '../limits/keyRateLimit.ts'
import { forward } from '../peers/forward.ts'
import { clientAddress, forwardCheckOf } from '../peers/forwarded.ts'
import { AuditTrail, type Described } from './auditTrail.ts'
import { authorize, isOpenTo } from './authorize.ts'
import { begin, fail, finish, type Exchange, type Note } from './exchange.ts'
import { Json, type AnyHandler } from './handlers.ts'
import { hostOriginGuard } from './hostOriginGuard.ts'
import { paramReader, peekId } from './pathParams.ts'
import { RequestCall } from './requestCall.ts'
import { readInput, type BodyBudgets } from './requestInput.ts'
import { present, type Answer } from './response.ts'

/** What all requests share. */
export interface Server {
  app: App
  note: Note
  keyLimit: KeyRateLimit
  bodies: BodyBudgets
}

/** One row of the contract, with what answers it. */
export interface Endpoint {
  route: Route
  handler: AnyHandler
  audited: Described | undefined
  readParams: ReturnType<typeof paramReader>
  /** The path's parameter that names the project in which the caller's role is asked for, or nothing. */
  projectParam: string
  /** Whether the path leads to the project whose access rules hold. Otherwise the body does, and is read first. */
  isProjectInPath: boolean
}

export function endpointOf(route: Route, handler: AnyHandler, audited: Described | undefined): Endpoint {
  const { who, path } = route
  const params = paramsOf(path)
  const name = who.kind === 'member' ? who.through : 'projectId'
  return {
    route,
    handler,
    audited,
    readParams: paramReader(route),
    projectParam: params.includes(name) && (name === 'projectId' || name === 'id') ? name : '',
    isProjectInPath: who.kind !== 'member' || params.includes(name === 'flatCard' ? 'id' : name),
  }
}

/** Answers requests to one row of the contract. Whatever fails on the way is answered in the error envelope. */
export const requestHandler = (server: Server, endpoint: Endpoint) => async (event: H3Event) => {
  const { req, res } = event.runtime!.node as { req: IncomingMessage; res: ServerResponse }
  const exchange = begin(req, res, endpoint.route)
  try {
    return finish(server, exchange, await answer(server, endpoint, exchange, event.context.params ?? {}))
  } catch (error) {
    const explained = await explain(server, exchange, error)
    // A refused sign-in is in the audit log before it is answered.
    if (explained instanceof Problem) await exchange.audit?.refused(explained)
    return fail(server, exchange, explained)
  }
}

/**
 * The pipeline of a request, from top to bottom: guard, authenticate, limit, authorize, forward, validate, call,
 * present.
 */
async function answer(
  server: Server,
  endpoint: Endpoint,
  exchange: Exchange,
  rawParams: Readonly<Record<string, string>>,
): Promise<Answer> {
  const { app } = server
  const { route, handler, audited, isProjectInPath } = endpoint
  const { req, res, headers } = exchange

  hostOriginGuard(app, req)
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

  const params = (exchange.input = endpoint.readParams(rawParams))
  const call = new RequestCall(app.db, route, req, res, caller, peer, clientAddress(app, req, peer))
  if (audited && req.method !== 'HEAD')
    exchange.audit = new AuditTrail(app, audited, isOpen ? undefined : caller, call.address)

  const authorizeAndForward = async (named: Record<string, unknown>, body?: unknown) => {
    if (!isOpen) call.role = await authorize(app.db, route, caller, named)
    return forward(app, route, call, named, body)
  }
  const early = isProjectInPath && (await authorizeAndForward(params))
  if (early) return present(early, early.status, headers)
  const { input, claim } = await readInput(app, server.bodies, route, call, { params, isStranger: isOpen })
  exchange.input = input
  const late = !isProjectInPath && (await authorizeAndForward(input, input))
  if (late) return present(late, late.status, headers)

  if (claim) call.write = claim.write
  exchange.audit?.takes(input)
  if (exchange.audit) call.takeAudit(exchange.audit)
  if (claim?.replay) return present(JSON.parse(claim.replay.text), route.status, headers)
  const result = await handler(input as never, call)
  await exchange.audit?.finish(result)
  // A replayed answer has its ETag from the object: so has the first one.
  return present(claim && result instanceof Json ? JSON.parse(result.text) : result, route.status, headers)
}

/** The router resolves dots and backslashes in a path, a proxy in front may not: they would disagree on the path. */
const dotSegments = /^[^?]*(?:\\|\/(?:\.|%2e){1,2}(?:[/?#]|$))/i

/** The caller of an open route. Its token is not checked. */
const nobody: Caller = { kind: 'user', userId: -1, role: 'user', email: '', displayName: '', tokenHash: '' }

/** A write that failed because a row was deleted meanwhile is answered as if that row had been gone before. */
const explain = async ({ app }: Server, { caller, route, input }: Exchange, error: unknown): Promise<unknown> =>
  error instanceof ForeignKeyViolation && route
    ? explainMissing(app.db, caller, route, input, error).catch((failure: unknown) => failure)
    : error
