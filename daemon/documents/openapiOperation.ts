import { errors, type ErrorCode } from '../../src/contract/errors.ts'
import { failuresOf } from '../../src/contract/failures.ts'
import { paramsOf } from '../../src/contract/paths.ts'
import { keyPermissionsOf, rateLimits, textParams, type Route, type Who } from '../../src/contract/route.ts'
import { inputSchema, outputSchema } from './openapiSchemas.ts'
import type { DocumentedAnswer, Operation, Parameter, Schema } from './openapiTypes.ts'

/** A row of the contract as an OpenAPI operation. */
export function operationOf(resource: string, name: string, route: Route): Operation {
  const body = requestBody(route)
  return {
    operationId: `${resource}${name[0]!.toUpperCase()}${name.slice(1)}`,
    tags: [resource],
    summary: route.summary,
    description: describeRoute(route),
    security: security(route.who),
    parameters: parameters(route),
    ...(body && { requestBody: body }),
    responses: { ...successes(route), ...failures(route) },
  }
}

/** The details in one paragraph, and the callers, events and limit in another. */
function describeRoute({ details, who, emits, rateLimit }: Route): string {
  const access = [
    whoText(who),
    ...(emits ? [`Emits ${emits.join(', ')}.`] : []),
    ...(rateLimit ? [`Limited: ${rateLimits[rateLimit]}`] : []),
  ].join(' ')
  return details === undefined ? access : `${details}\n\n${access}`
}

function whoText(who: Who): string {
  if (who.kind === 'member') return `Requires the project role ${who.role} or higher.`
  return who.kind === 'organization'
    ? `Requires the organization role ${who.role}${who.role === 'member' ? ' or higher' : ''}.`
    : whoTexts[who.kind]
}
const whoTexts = {
  public: 'Public.',
  user: 'Requires a sign-in.',
  admin: 'Requires the role admin or super_admin.',
  super: 'Requires the role super_admin.',
  local: 'Open to the account that runs the server, on its machine. All other callers require the role super_admin.',
  key: 'Requires an API key with one of the permissions.',
  agent: 'Requires an agent token of the card. The number of requests per session and minute is limited.',
  token: 'Requires any token. The number of requests per agent session and minute is limited.',
}

function security(who: Who): Operation['security'] {
  if (who.kind === 'public') return []
  if (who.kind === 'key') return who.permissions.map(permission => ({ apiKey: [permission] }))
  if (who.kind === 'agent') return [{ agentToken: [] }]
  if (who.kind === 'token') return [{ signIn: [] }, { apiKey: [] }, { agentToken: [] }]
  if (who.kind === 'local') return [{}, { signIn: [] }]
  return [{ signIn: [] }, ...keyPermissionsOf(who).map(permission => ({ apiKey: [permission] }))]
}

const ifMatch: Parameter = {
  name: 'If-Match',
  in: 'header',
  required: false,
  schema: { type: 'string' },
  description: 'The ETag of the version to change.',
}
const idempotencyKey: Parameter = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  schema: { type: 'string', maxLength: 255 },
  description: 'A repeated request with the same key returns the first response for 24 hours.',
}

function parameters(route: Route): Parameter[] {
  const path = paramsOf(route.path).map((name): Parameter => ({
    name,
    in: 'path',
    required: true,
    schema: paramSchema(route, name),
    description: `Returns ${route.notFound![name]} if not found.`,
  }))
  return [
    ...path,
    ...(route.body === 'json' || route.body === 'form' || !route.input
      ? []
      : queryParameters(inputSchema(route.input))),
    ...(route.ifMatch ? [ifMatch] : []),
    ...(route.idempotent ? [idempotencyKey] : []),
  ]
}

/** The schema of a path parameter. */
export function paramSchema({ integerIds }: Route, name: string): Schema {
  if ((textParams as readonly string[]).includes(name)) return { type: 'string' }
  return integerIds ? { type: 'integer', minimum: 1 } : { type: 'string', pattern: '^[1-9]\\d{0,15}$' }
}

const queryParameters = ({ properties = {}, required = [] }: Schema): Parameter[] =>
  Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    schema: plainInQuery(schema as Schema),
  }))

/**
 * Returns the schema of a query parameter. Query strings hold text, so numbers and booleans with a text alternative
 * are described by their value type.
 */
export function plainInQuery({ anyOf, ...schema }: Schema): Schema {
  const types = (anyOf ?? []).map(each => (each as Schema).type)
  if (types.includes('boolean')) return { ...schema, type: 'boolean' }
  return types.includes('number') ? { ...schema, type: 'integer' } : { ...(anyOf && { anyOf }), ...schema }
}

function requestBody({ body, input }: Route): Operation['requestBody'] {
  if (body === 'multipart') return { required: true, content: { 'multipart/form-data': { schema: fileForm } } }
  if (body === 'bytes') return { required: true, content: { 'application/json': { schema: { type: 'object' } } } }
  if (body === 'none' || !input) return undefined
  const schema = inputSchema(input)
  const type = body === 'form' ? 'application/x-www-form-urlencoded' : 'application/json'
  return { required: (schema.required ?? []).length > 0, content: { [type]: { schema } } }
}

const fileForm: Schema = {
  type: 'object',
  required: ['file'],
  properties: { file: { type: 'string', contentMediaType: 'application/octet-stream' } },
}

function successes(route: Route): Operation['responses'] {
  const { answers, status } = route
  if (answers)
    return Object.fromEntries(
      Object.entries(answers).map(([code, { description, type }]) => [
        code,
        { description, ...(type !== undefined && { content: { [type]: { schema: rawSchema(type) } } }) },
      ]),
    )
  if (!route.output) return { [status]: { description: 'Done' } }
  const schema: Schema = { type: 'object', required: ['data'], properties: { data: outputSchema(route.output) } }
  return {
    [status]: {
      description: status === 201 ? 'Created' : 'Success',
      content: { 'application/json': { schema }, ...(route.csv && { 'text/csv': { schema: rawSchema('text/csv') } }) },
    },
  }
}

function rawSchema(type: string): Schema {
  if (type === 'application/json') return { type: 'object' }
  return type.startsWith('text/') ? { type: 'string' } : {}
}

/** One response per status, which lists the error codes of the route with this status. */
function failures(route: Route): Operation['responses'] {
  const codes = new Map<number, ErrorCode[]>()
  for (const code of new Set(failuresOf(route))) {
    const [status] = errors[code]
    codes.set(status, [...(codes.get(status) ?? []), code])
  }
  return Object.fromEntries(
    [...codes].map(([status, names]): [number, DocumentedAnswer] => [
      status,
      {
        description: names.join(', '),
        content: {
          'application/json': { schema: { $ref: `#/components/schemas/${route.oauth ? 'OAuthFailure' : 'Failure'}` } },
        },
      },
    ]),
  )
}
