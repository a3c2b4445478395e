import { H3, type H3Event } from 'h3'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { contract } from '../../src/contract/index.ts'
import { invalid, Problem } from '../../src/contract/errors.ts'
import { AnyObject } from '../../src/contract/fields.ts'
import { isExternal, maxBodyBytes, paramsOf, takesIdempotencyKey, type Route } from '../../src/contract/route.ts'
import type { App } from '../../src/app.ts'
import type { Peer } from '../../src/config/peer.ts'
import { authenticate, type Voucher } from '../../src/identity/authenticate.ts'
import { clientHeader, isPass, passHeader, readClient } from '../../src/identity/passes.ts'
import type { Caller } from '../../src/domain/caller.ts'
import { whatIsMissing } from '../../src/domain/missing.ts'
import { ForeignKeyViolation } from '../../src/store/database.ts'
import { commonHeaders, present, presentFailure, send, toProblem, type Answer, type Headers } from './response.ts'
import { AuditTrail, describeAudited, type Described } from './auditTrail.ts'
import { authorize, isOpenTo } from './authorize.ts'
import { BodyMemory, readJson } from './jsonBody.ts'
import { RequestCall } from './requestCall.ts'
import { guard } from './hostOriginGuard.ts'
import { Json, type AnyHandler, type Call } from './handlers.ts'
import { claimOf, type Claim } from './idempotency.ts'
import { paramReader, peekId, readQuery, validate } from './input.ts'
import { passOn } from '../peers/forward.ts'
import { nextRequestId } from './requestId.ts'
import { createRequestLog, type Answered } from './requestLog.ts'
import { createKeyLimit, type KeyLimit } from '../limits/keyRateLimit.ts'
import { handlers } from '../routes/index.ts'

export interface Server {
  app: App
  note: (answered: Answered) => void
  keyLimit: KeyLimit
  /** What the bodies of those hold who have said who they are, and of those who have not. */
  bodies: { known: BodyMemory; strangers: BodyMemory }
}

const [maxKnownBodyBytes, maxStrangersBodyBytes] = [64 * 1024 * 1024, 8 * 1024 * 1024]

/** Makes the h3 application: one route for each row of the contract, 405 for other methods of its path, 404 for the rest. */
export function createHttp(app: App): H3 {
  // A path whose escapes are broken is answered like any other that leads nowhere.
  const h3 = new H3({ silent: true, allowMalformedURL: true })
  const server: Server = {
    app,
    note: noteOf(app),
    keyLimit: createKeyLimit(app.config.externalRequestsPerMinute, app.db),
    bodies: { known: new BodyMemory(maxKnownBodyBytes), strangers: new BodyMemory(maxStrangersBodyBytes) },
  }
  const all = handlers(app) as unknown as Record<string, Record<string, AnyHandler>>
  const methods = new Map<string, string[]>()
  for (const [resource, rows] of Object.entries(contract)) {
    for (const [name, row] of Object.entries(rows) as Array<[string, Route]>) {
      const answer = answerer(server, row, all[resource]![name]!, describeAudited(resource, name, row))
      h3.on(row.method, toPattern(row.path), answer)
      if (row.method === 'GET') h3.on('HEAD', toPattern(row.path), answer)
      methods.set(row.path, [...(methods.get(row.path) ?? []), row.method])
    }
  }
  for (const [path, allowed] of methods)
    h3.all(
      toPattern(path),
      failer(server, () => new Problem('METHOD_NOT_ALLOWED', `This path answers ${allowed.join(', ')}.`), {
        allow: allowed.join(', '),
      }),
    )
  h3.all(
    '/**',
    failer(server, () => new Problem('NOT_FOUND')),
  )
  return h3
}

/** A request that has been answered is logged and counted. */
function noteOf({ config, logs, metrics }: App): (answered: Answered) => void {
  const logged = createRequestLog(logs, config.logLevel === 'info')
  const timing = metrics.timing(
    { name: 'board_request_seconds', help: 'How long requests took, by route and status.' },
    ['method', 'route', 'status'],
  )
  return answered => {
    timing.observe(answered.tookMs / 1000, answered.method, answered.route ?? 'none', String(answered.status))
    logged(answered)
  }
}

const toPattern = (path: string) => path.replace(/\{(\w+)\}/g, ':$1')

/** A path with dots or backslashes, which the router would make straight: whoever stands before the server and looks at paths sees another one. */
const roundabout = /^[^?]*(?:\\|\/(?:\.|%2e){1,2}(?:[/?#]|$))/i

/** The whole way of a request: guard, authenticate, authorize, validate, call, present. */
function answerer(server: Server, route: Route, handler: AnyHandler, audited: Described | undefined) {
  const readParams = paramReader(route)
  const projectInPath =
    route.who.kind !== 'member' ||
    paramsOf(route.path).includes(route.who.through === 'flatCard' ? 'id' : route.who.through)
  const projectParam = projectParamOf(route)
  return async (event: H3Event) => {
    const { req, res } = event.runtime!.node as { req: IncomingMessage; res: ServerResponse }
    const exchange = begin(req, res, route)
    const { headers } = exchange
    try {
      guard(server.app, req)
      if (roundabout.test(req.url ?? '')) throw new Problem('NOT_FOUND')
      const peer = server.app.peerOf(req)
      const isOpen = await isOpenTo(route, peer)
      const raw = (event.context.params ?? {}) as Record<string, string>
      const caller = isOpen
        ? nobody
        : (exchange.caller = await authenticate(
            server.app,
            req.headers.authorization,
            peer,
            peekId(raw[projectParam]),
            voucherOf(server.app, req),
          ))
      if (caller.key && isExternal(route.path)) await server.keyLimit(caller.key.id, headers)
      const params = (exchange.input = readParams(raw))
      const address = addressOf(server.app, req, peer)
      const call = new RequestCall(server.app.db, req, res, caller, peer, address)
      if (audited && req.method !== 'HEAD')
        exchange.audit = new AuditTrail(server.app, audited, isOpen ? undefined : caller, address)
      if (!isOpen && projectInPath) call.role = await authorize(server.app.db, route, caller, params)
      const passed = projectInPath && (await passOn(server.app, route, call, params))
      if (passed) return finish(server, exchange, present(passed, passed.status, headers))
      const { input, claim } = await readInput(server, route, call, params)
      exchange.input = input
      if (!projectInPath) call.role = await authorize(server.app.db, route, caller, input)
      const passedWhole = !projectInPath && (await passOn(server.app, route, call, input, input))
      if (passedWhole) return finish(server, exchange, present(passedWhole, passedWhole.status, headers))
      if (claim) call.write = claim.write
      exchange.audit?.takes(input)
      if (exchange.audit) call.takeAudit(exchange.audit)
      const result = claim?.replay ?? (await handler(input as never, call))
      if (!claim?.replay) await exchange.audit?.finish(result)
      // The answer that was given then, with its ETag.
      return finish(
        server,
        exchange,
        present(claim && result instanceof Json ? JSON.parse(result.text) : result, route.status, headers),
      )
    } catch (error) {
      return refuse(server, exchange, await explain(server, exchange, error))
    }
  }
}

/** A write that failed because something it needs was deleted meanwhile is answered as if that had been gone before. */
const explain = async ({ app }: Server, { caller, route, input }: Exchange, error: unknown): Promise<unknown> =>
  error instanceof ForeignKeyViolation && route
    ? whatIsMissing(app.db, caller, route, input, error).catch((failure: unknown) => failure)
    : error

/** The path's parameter that names the project in which the caller's role is asked for, or nothing. */
function projectParamOf({ who, path }: Route): string {
  const name = who.kind === 'member' ? who.through : 'projectId'
  return paramsOf(path).includes(name) && (name === 'projectId' || name === 'id') ? name : ''
}

async function readInput(
  server: Server,
  route: Route,
  { request: req, response: res, caller }: Call,
  params: Record<string, unknown>,
): Promise<{ input: Record<string, unknown>; claim?: Claim }> {
  // The body of an upload is the file alone.
  if (route.transfer === 'upload')
    return {
      input: route.input ? { ...(validate(route.input, readQuery(req.url ?? '')) as object), ...params } : params,
    }
  const sendsBody = req.method !== 'GET' && req.method !== 'HEAD' && req.method !== 'DELETE'
  const memory = caller === nobody ? server.bodies.strangers : server.bodies.known
  const body = sendsBody ? await readJson(req, res, { maxBytes: maxBodyBytes(route), memory }) : undefined
  const query = readQuery(req.url ?? '')
  if (!route.input) return { input: params }
  const fields = validate(route.checkedBy === 'rules' ? AnyObject : route.input, sendsBody ? body : query) as Record<
    string,
    unknown
  >
  const taken = Object.keys(params).find(name => Object.hasOwn(fields, name))
  if (taken) throw invalid(taken, 'stands in the path already')
  const input = Object.assign(fields, params)
  const key = req.headers['idempotency-key']
  if (key === undefined || !takesIdempotencyKey(route)) return { input }
  return { input, claim: await claimOf(server.app, route, caller, String(key), input) }
}

/** Tells whether another daemon on the same database vouches for a request. */
const voucherOf = ({ db, seal, membership }: App, { headers, method, url }: IncomingMessage): Voucher => {
  const pass = headers[passHeader]
  return db.isShared && typeof pass === 'string'
    ? () => isPass(seal, pass, { method: method!, url: url!, daemonId: membership.id, nowMs: Date.now() })
    : undefined
}

/** Where a request comes from, also one that another daemon on the same database passes on. */
function addressOf({ db, seal, membership }: App, { headers, method, url }: IncomingMessage, peer: Peer): string {
  const client = headers[clientHeader]
  const told =
    db.isShared && typeof client === 'string'
      ? readClient(seal, client, { method: method!, url: url!, daemonId: membership.id })
      : undefined
  return told ?? peer.address
}

/** An open route has no caller: who sends a token there is not even looked up. */
const nobody: Caller = { kind: 'user', userId: -1, role: 'user', email: '', displayName: '', tokenHash: '' }

const failer =
  (server: Server, problem: () => Problem, extra: Headers = {}) =>
  (event: H3Event) => {
    const { req, res } = event.runtime!.node as { req: IncomingMessage; res: ServerResponse }
    const exchange = begin(req, res, undefined, extra)
    try {
      guard(server.app, req)
      throw problem()
    } catch (error) {
      return fail(server, exchange, error)
    }
  }

/** A request on its way. */
interface Exchange {
  req: IncomingMessage
  res: ServerResponse
  route: Route | undefined
  requestId: string
  headers: Headers
  startedAtMs: number
  caller: Caller | undefined
  /** What the request names, as far as it was read. */
  input: Record<string, unknown>
  audit: AuditTrail | undefined
}

function begin(req: IncomingMessage, res: ServerResponse, route: Route | undefined, extra?: Headers): Exchange {
  const requestId = nextRequestId()
  return {
    req,
    res,
    route,
    requestId,
    headers: Object.assign(commonHeaders(requestId), extra),
    startedAtMs: performance.now(),
    caller: undefined,
    input: {},
    audit: undefined,
  }
}

function finish(server: Server, exchange: Exchange, answer: Answer, problem?: Problem): Response {
  const { req, res, route, requestId, caller, startedAtMs } = exchange
  const response = send(res, answer)
  server.note({
    method: req.method ?? '',
    route: route?.path ?? null,
    status: answer.status,
    tookMs: performance.now() - startedAtMs,
    requestId,
    caller,
    isSignIn: route?.who.kind === 'public',
    ...(problem && { problem, address: server.app.peerOf(req).address }),
  })
  return response
}

/** Fails a request; a refused sign-in is in the audit log before it is answered. */
async function refuse(server: Server, exchange: Exchange, error: unknown): Promise<Response> {
  if (error instanceof Problem) await exchange.audit?.refused(error)
  return fail(server, exchange, error)
}

function fail(server: Server, exchange: Exchange, error: unknown): Response {
  const problem = toProblem(error, exchange.requestId)
  return finish(server, exchange, presentFailure(problem, exchange.requestId, exchange.headers), problem)
}
