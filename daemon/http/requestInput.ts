import * as v from 'valibot'
import type { App } from '../../src/app.ts'
import { invalid } from '../../src/contract/errors.ts'
import { AnyObject } from '../../src/contract/fields.ts'
import { maxBodyBytes, type Route } from '../../src/contract/route.ts'
import type { Call } from './handlers.ts'
import { claimKey, type Claim } from './idempotency.ts'
import { readBody, readForm, readJson, type BodyMemory } from './jsonBody.ts'
import { readQuery, validate } from './validate.ts'

type Fields = Record<string, unknown>

const Nothing = v.strictObject({})

/** The memory budgets for the bodies of authenticated and of anonymous requests. */
export interface BodyBudgets {
  known: BodyMemory
  strangers: BodyMemory
}

const readers: { readonly [Body in Route['body']]?: typeof readJson } = { json: readJson, form: readForm }

/**
 * Reads and validates a handler's input: the path parameters with the fields of the query or the body. The handler of an
 * upload reads the body itself. If the route supports Idempotency-Key, looks up the sent key.
 * @throws Problem VALIDATION_FAILED, IDEMPOTENCY_KEY_REUSED, or the error of reading the body
 */
export async function readInput(
  app: Pick<App, 'db'>,
  bodies: BodyBudgets,
  route: Route,
  call: Call,
  { params, isStranger }: { params: Fields; isStranger: boolean },
): Promise<{ input: Fields; claim?: Claim }> {
  const memory = isStranger ? bodies.strangers : bodies.known
  if (route.body === 'bytes') {
    call.bytes = await readBody(call.request, call.response, { maxBytes: maxBodyBytes(route), memory })
    return { input: params }
  }
  const body = await (readers[route.body]?.(call.request, call.response, { maxBytes: maxBodyBytes(route), memory }) ??
    undefined)
  const query = readQuery(call.request.url ?? '')
  if (!route.input) {
    if (readers[route.body]) validate(Nothing, body)
    return { input: params }
  }
  const input = takeFields(route, readers[route.body] ? body : query, params)
  // The key of an upload is combined with the file's hash, so the handler looks it up.
  if (call.idempotencyKey === undefined || route.body === 'multipart') return { input }
  return { input, claim: await claimKey(app, route, call.caller, call.idempotencyKey, input) }
}

/**
 * Validates the fields of the query or body, and adds the path's parameters.
 * @throws Problem VALIDATION_FAILED
 */
export function takeFields(route: Route, given: unknown, params: Fields): Fields {
  const fields = validate(route.checkedBy === 'rules' ? AnyObject : (route.input ?? Nothing), given) as Fields
  const twice = Object.keys(params).find(name => Object.hasOwn(fields, name))
  if (twice) throw invalid(twice, 'is already set in the path')
  return Object.assign(fields, params)
}
