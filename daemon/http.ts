import { H3, type H3Event } from 'h3'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Peer } from '../src/config/peer.ts'
import { contract } from '../src/contract/index.ts'
import { invalid, Problem } from '../src/contract/errors.ts'
import { isExternal, paramsOf, type Route } from '../src/contract/route.ts'
import type { App } from '../src/app.ts'
import { authenticate } from '../src/identity/authenticate.ts'
import type { Caller } from '../src/domain/caller.ts'
import { commonHeaders, present, presentFailure, toProblem, type Headers } from './answer.ts'
import { authorize, isOpenTo } from './authorize.ts'
import { readJson } from './body.ts'
import { guard } from './guard.ts'
import { Json, type AnyHandler, type Call } from './handlers.ts'
import { claimOf, type Claim } from './idempotency.ts'
import { paramReader, readQuery, validate } from './input.ts'
import type { Log } from './log.ts'
import { createKeyLimit, type KeyLimit } from './rateLimit.ts'
import { handlers } from './routes/index.ts'

export interface Server { app: App; log: Log; keyLimit: KeyLimit }

/** Makes the h3 application: one route for each row of the contract, 405 for other methods of its path, 404 for the rest. */
export function createHttp(app: App, log: Log): H3 {
  // A path whose escapes are broken is answered like any other that leads nowhere.
  const h3 = new H3({ silent: true, allowMalformedURL: true })
  const server: Server = { app, log, keyLimit: createKeyLimit(app.config.externalRequestsPerMinute) }
  const all = handlers(app) as unknown as Record<string, Record<string, AnyHandler>>
  const methods = new Map<string, string[]>()
  for (const [resource, rows] of Object.entries(contract)) {
    for (const [name, row] of Object.entries(rows) as Array<[string, Route]>) {
      const answer = answerer(server, row, all[resource]![name]!)
      h3.on(row.method, toPattern(row.path), answer)
      if (row.method === 'GET') h3.on('HEAD', toPattern(row.path), answer)
      methods.set(row.path, [...(methods.get(row.path) ?? []), row.method])
    }
  }
  for (const [path, allowed] of methods) h3.all(toPattern(path), failer(server, () => new Problem('METHOD_NOT_ALLOWED', `This path answers ${allowed.join(', ')}.`), { allow: allowed.join(', ') }))
  h3.all('/**', failer(server, () => new Problem('NOT_FOUND')))
  return h3
}

const toPattern = (path: string) => path.replace(/\{(\w+)\}/g, ':$1')

/** The whole way of a request: guard, authenticate, authorize, validate, call, present. */
function answerer(server: Server, route: Route, handler: AnyHandler) {
  const readParams = paramReader(route)
  const projectInPath = route.who.kind !== 'member' || paramsOf(route.path).includes(route.who.through === 'flatCard' ? 'id' : route.who.through)
  return async (event: H3Event) => {
    const { req, res } = event.runtime!.node as { req: IncomingMessage; res: ServerResponse }
    const requestId = nextRequestId()
    const headers = commonHeaders(requestId)
    try {
      guard(server.app, req)
      const peer = server.app.peerOf(req)
      const isOpen = isOpenTo(route, peer)
      const caller = isOpen ? nobody : await authenticate(server.app, req.headers.authorization, peer)
      if (caller.key && isExternal(route.path)) await server.keyLimit(caller.key.id, headers)
      const params = readParams((event.context.params ?? {}) as Record<string, string>)
      const call = newCall(server, req, res, caller, peer)
      if (!isOpen && projectInPath) call.role = await authorize(server.app.db, route, caller, params)
      const { input, claim } = await readInput(server, route, req, params, caller)
      if (!projectInPath) call.role = await authorize(server.app.db, route, caller, input)
      if (claim) call.write = claim.write
      const result = claim?.replay ?? await handler(input as never, call)
      // The answer that was given then, with its ETag.
      return present(claim && result instanceof Json ? JSON.parse(result.text) : result, route.status, headers)
    } catch (error) {
      return fail(server, error, requestId, headers, req)
    }
  }
}

async function readInput(server: Server, route: Route, req: IncomingMessage, params: Record<string, unknown>, caller: Caller): Promise<{ input: Record<string, unknown>; claim?: Claim }> {
  if (route.transfer === 'upload') return { input: params }
  const sendsBody = req.method !== 'GET' && req.method !== 'HEAD' && req.method !== 'DELETE'
  const body = sendsBody ? await readJson(req) : undefined
  const query = readQuery(req.url ?? '')
  if (!route.input) return { input: params }
  const fields = validate(route.input, sendsBody ? body : query) as Record<string, unknown>
  const taken = Object.keys(params).find(name => Object.hasOwn(fields, name))
  if (taken) throw invalid(taken, 'stands in the path already')
  const input = { ...fields, ...params }
  const key = req.headers['idempotency-key']
  if (route.status !== 201 || key === undefined) return { input }
  return { input, claim: await claimOf(server.app, route, caller, String(key), input) }
}

function newCall({ app }: Server, request: IncomingMessage, response: ServerResponse, caller: Caller, { address, isLoopback }: Peer): Call {
  let aborted: AbortController | undefined
  return {
    caller, role: 'viewer', request, response, address, isLoopback, ifMatch: request.headers['if-match'],
    get signal() {
      if (!aborted) {
        const controller = aborted = new AbortController()
        response.once('close', () => controller.abort())
      }
      return aborted.signal
    },
    write: async (work, toOutput) => toOutput(await app.db.transaction(work)),
  }
}

/** An open route has no caller: who sends a token there is not even looked up. */
const nobody: Caller = { kind: 'user', userId: -1, role: 'user', email: '', displayName: '', tokenHash: '' }

const failer = (server: Server, problem: () => Problem, extra: Headers = {}) => (event: H3Event) => {
  const { req } = event.runtime!.node as { req: IncomingMessage }
  const requestId = nextRequestId()
  const headers = { ...commonHeaders(requestId), ...extra }
  try {
    guard(server.app, req)
    throw problem()
  } catch (error) {
    return fail(server, error, requestId, headers, req)
  }
}

function fail(server: Server, error: unknown, requestId: string, headers: Headers, req: IncomingMessage) {
  const problem = toProblem(error, requestId)
  if (problem.status >= 500) server.log('error', problem.message, { requestId, method: req.method, path: req.url?.split('?')[0], cause: problem.cause instanceof Error ? problem.cause.stack : String(problem.cause) })
  return presentFailure(problem, requestId, headers)
}

const started = Date.now().toString(36)
let requests = 0
const nextRequestId = () => `${started}-${(++requests).toString(36)}`
