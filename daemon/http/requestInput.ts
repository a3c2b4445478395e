import type { App } from '../../src/app.ts'
import { invalid } from '../../src/contract/errors.ts'
import { AnyObject } from '../../src/contract/fields.ts'
import { maxBodyBytes, type Route } from '../../src/contract/route.ts'
import type { Call } from './handlers.ts'
import { claimOf, type Claim } from './idempotency.ts'
import { readJson, type BodyMemory } from './jsonBody.ts'
import { readQuery, validate } from './validate.ts'

type Fields = Record<string, unknown>

/** What the bodies of callers hold in memory together, and what those of strangers do. */
export interface BodyBudgets {
  known: BodyMemory
  strangers: BodyMemory
}

/**
 * Reads and validates what a handler gets: the path's parameters with the query's or the body's fields. The body of an upload is
 * left to its handler. A sent Idempotency-Key is looked up where the row takes one.
 * @throws Problem VALIDATION_FAILED, IDEMPOTENCY_KEY_REUSED, or what reading the body throws
 */
export async function readInput(
  app: App,
  bodies: BodyBudgets,
  route: Route,
  call: Call,
  { params, isStranger }: { params: Fields; isStranger: boolean },
): Promise<{ input: Fields; claim?: Claim }> {
  const memory = isStranger ? bodies.strangers : bodies.known
  const body =
    route.body === 'json'
      ? await readJson(call.request, call.response, { maxBytes: maxBodyBytes(route), memory })
      : undefined
  const query = readQuery(call.request.url ?? '')
  if (!route.input) return { input: params }
  const schema = route.checkedBy === 'rules' ? AnyObject : route.input
  const fields = validate(schema, route.body === 'json' ? body : query) as Fields
  const twice = Object.keys(params).find(name => Object.hasOwn(fields, name))
  if (twice) throw invalid(twice, 'stands in the path already')
  const input = Object.assign(fields, params)
  // The key of an upload goes with its file's hash: the handler looks it up.
  if (call.idempotencyKey === undefined || route.body === 'multipart') return { input }
  return { input, claim: await claimOf(app, route, call.caller, call.idempotencyKey, input) }
}
