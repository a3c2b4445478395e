import { H3, type H3Event } from 'h3'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { App } from '../../src/app.ts'
import { Problem } from '../../src/contract/errors.ts'
import { contract } from '../../src/contract/index.ts'
import type { Route } from '../../src/contract/route.ts'
import { createRequestLimit } from '../limits/requestLimit.ts'
import { handlers } from '../routes/index.ts'
import { describeAudited } from './auditTrail.ts'
import { beginExchange, sendError, type Note } from './exchange.ts'
import { endpointOf, type Endpoint } from './callEndpoint.ts'
import { requestHandler, type Server } from './handleRequest.ts'
import type { AnyHandler } from './handlers.ts'
import { hostOriginGuard } from './hostOriginGuard.ts'
import { BodyMemory } from './jsonBody.ts'
import { createRequestLog } from './requestLog.ts'
import type { Headers } from './response.ts'

const [maxKnownBodyBytes, maxStrangersBodyBytes] = [64 * 1024 * 1024, 8 * 1024 * 1024]

/**
 * Creates the h3 application: one handler per route of the contract, 405 for other methods of its path, and 404 for other
 * paths.
 */
export function createRouter(app: App): H3 {
  // A path whose escapes are broken is answered like any other that leads nowhere.
  const h3 = new H3({ silent: true, allowMalformedURL: true })
  const server: Server = {
    app,
    note: createNote(app),
    keyLimit: createRequestLimit('key', app.config.externalRequestsPerMinute, app.db),
    agentLimit: createRequestLimit('agent', app.config.agentRequestsPerMinute, app.db),
    bodies: { known: new BodyMemory(maxKnownBodyBytes), strangers: new BodyMemory(maxStrangersBodyBytes) },
  }
  const endpoints: Endpoint[] = []
  const all = handlers(app, endpoints) as unknown as Record<string, Record<string, AnyHandler>>
  const paths = new Map<string, Map<string, Handle>>()
  for (const [resource, rows] of Object.entries(contract)) {
    for (const [name, row] of Object.entries(rows) as Array<[string, Route]>) {
      const endpoint = endpointOf(row, all[resource]![name]!, describeAudited(resource, name, row))
      endpoints.push(endpoint)
      const methods = paths.get(row.path) ?? new Map<string, Handle>()
      paths.set(row.path, methods.set(row.method, requestHandler(server, endpoint)))
    }
  }
  // One route per path, not per method: registering them takes two thirds of the time.
  for (const [path, methods] of paths) h3.all(toPattern(path), dispatcher(server, methods))
  h3.all(
    '/**',
    refuser(server, () => new Problem('NOT_FOUND')),
  )
  return h3
}

type Handle = (event: H3Event) => Response | Promise<Response>

/** Dispatches a request to the row of its method. HEAD is answered as GET without the body. */
function dispatcher(server: Server, methods: ReadonlyMap<string, Handle>): Handle {
  const allow = [...methods.keys()].join(', ')
  const refuse = refuser(server, () => new Problem('METHOD_NOT_ALLOWED', `This path supports ${allow}.`), { allow })
  return event => {
    const { method } = event.req
    return (methods.get(method === 'HEAD' ? 'GET' : method) ?? refuse)(event)
  }
}

const toPattern = (path: string) => path.replace(/\{(\w+)\}/g, ':$1')

/** Answers requests that match no row of the contract. */
const refuser =
  (server: Server, problem: () => Problem, headers: Headers = {}) =>
  (event: H3Event) => {
    const { req, res } = event.runtime!.node as { req: IncomingMessage; res: ServerResponse }
    const exchange = beginExchange(req, res, undefined, headers)
    try {
      hostOriginGuard(server.app, req)
      throw problem()
    } catch (error) {
      return sendError(server, exchange, error)
    }
  }

function createNote({ config, logs, metrics }: Pick<App, 'config' | 'logs' | 'metrics'>): Note {
  const logged = createRequestLog(logs, config.logLevel === 'info')
  const timing = metrics.timing({ name: 'board_request_seconds', help: 'Duration of requests, by route and status.' }, [
    'method',
    'route',
    'status',
  ])
  return answered => {
    timing.observe(answered.tookMs / 1000, answered.method, answered.route ?? 'none', String(answered.status))
    logged(answered)
  }
}
