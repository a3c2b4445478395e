import { H3, type H3Event } from 'h3'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { App } from '../../src/app.ts'
import { Problem } from '../../src/contract/errors.ts'
import { contract } from '../../src/contract/index.ts'
import type { Route } from '../../src/contract/route.ts'
import { createKeyRateLimit } from '../limits/keyRateLimit.ts'
import { handlers } from '../routes/index.ts'
import { describeAudited } from './auditTrail.ts'
import { begin, fail, type Note } from './exchange.ts'
import { endpointOf, type Endpoint } from './callEndpoint.ts'
import { requestHandler, type Server } from './handleRequest.ts'
import type { AnyHandler } from './handlers.ts'
import { hostOriginGuard } from './hostOriginGuard.ts'
import { BodyMemory } from './jsonBody.ts'
import { createRequestLog } from './requestLog.ts'
import type { Headers } from './response.ts'

const [maxKnownBodyBytes, maxStrangersBodyBytes] = [64 * 1024 * 1024, 8 * 1024 * 1024]

/** Makes the h3 application: one route for each row of the contract, 405 for other methods of its path, 404 for the rest. */
export function createRouter(app: App): H3 {
  // A path whose escapes are broken is answered like any other that leads nowhere.
  const h3 = new H3({ silent: true, allowMalformedURL: true })
  const server: Server = {
    app,
    note: createNote(app),
    keyLimit: createKeyRateLimit(app.config.externalRequestsPerMinute, app.db),
    bodies: { known: new BodyMemory(maxKnownBodyBytes), strangers: new BodyMemory(maxStrangersBodyBytes) },
  }
  const endpoints: Endpoint[] = []
  const all = handlers(app, endpoints) as unknown as Record<string, Record<string, AnyHandler>>
  const methods = new Map<string, string[]>()
  for (const [resource, rows] of Object.entries(contract)) {
    for (const [name, row] of Object.entries(rows) as Array<[string, Route]>) {
      const endpoint = endpointOf(row, all[resource]![name]!, describeAudited(resource, name, row))
      endpoints.push(endpoint)
      const handle = requestHandler(server, endpoint)
      h3.on(row.method, toPattern(row.path), handle)
      if (row.method === 'GET') h3.on('HEAD', toPattern(row.path), handle)
      methods.set(row.path, [...(methods.get(row.path) ?? []), row.method])
    }
  }
  for (const [path, names] of methods) {
    const allow = names.join(', ')
    h3.all(
      toPattern(path),
      refuser(server, () => new Problem('METHOD_NOT_ALLOWED', `This path answers ${allow}.`), { allow }),
    )
  }
  h3.all(
    '/**',
    refuser(server, () => new Problem('NOT_FOUND')),
  )
  return h3
}

const toPattern = (path: string) => path.replace(/\{(\w+)\}/g, ':$1')

/** Answers requests that no row of the contract takes. */
const refuser =
  (server: Server, problem: () => Problem, headers: Headers = {}) =>
  (event: H3Event) => {
    const { req, res } = event.runtime!.node as { req: IncomingMessage; res: ServerResponse }
    const exchange = begin(req, res, undefined, headers)
    try {
      hostOriginGuard(server.app, req)
      throw problem()
    } catch (error) {
      return fail(server, exchange, error)
    }
  }

function createNote({ config, logs, metrics }: App): Note {
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
