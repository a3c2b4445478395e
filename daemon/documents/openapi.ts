import { toJsonSchema, toJsonSchemaDefs, type ConversionConfig, type JsonSchema } from '@valibot/to-json-schema'
import type { GenericSchema } from 'valibot'
import { version } from '../../src/config/version.ts'
import { Attachment } from '../../src/contract/attachments.ts'
import { Me, SignedIn } from '../../src/contract/auth.ts'
import { Backup } from '../../src/contract/backups.ts'
import { Board } from '../../src/contract/boards.ts'
import { CardDetail, CardItem, Pipeline } from '../../src/contract/cards.ts'
import { Column } from '../../src/contract/columns.ts'
import { errors } from '../../src/contract/errors.ts'
import { ExternalBoard, ExternalCard, ExternalItem, ExternalStats } from '../../src/contract/external.ts'
import { failuresOf } from '../../src/contract/failures.ts'
import { contract } from '../../src/contract/index.ts'
import { Key, NewKey } from '../../src/contract/keys.ts'
import { Organization } from '../../src/contract/organizations.ts'
import { Project, Stats } from '../../src/contract/projects.ts'
import {
  isExternal,
  paramsOf,
  takesIdempotencyKey,
  textParams,
  type Route,
  type Who,
} from '../../src/contract/route.ts'
import { Shortcuts, UserSettings } from '../../src/contract/settings.ts'
import { Template } from '../../src/contract/templates.ts'

export type Schema = JsonSchema & { $ref?: string }
export interface Parameter {
  name: string
  in: 'path' | 'query' | 'header'
  required: boolean
  schema: Schema
  description?: string
}
export interface Answer {
  description: string
  content?: Record<string, { schema: Schema }>
}
export interface Operation {
  operationId: string
  tags: [string]
  summary: string
  description: string
  security: Array<Record<string, string[]>>
  parameters: Parameter[]
  requestBody?: { required: boolean; content: Record<string, { schema: Schema }> }
  responses: Record<string, Answer | { $ref: string }>
}
export interface Document {
  openapi: string
  info: { title: string; version: string; description: string }
  servers: Array<{ url: string }>
  tags: Array<{ name: string }>
  paths: Record<string, Record<string, Operation>>
  components: {
    schemas: Record<string, Schema>
    responses: Record<string, Answer>
    securitySchemes: Record<string, object>
  }
}

const records = {
  Attachment,
  Backup,
  Me,
  SignedIn,
  Board,
  CardItem,
  Card: CardDetail,
  Pipeline,
  Column,
  ExternalBoard,
  ExternalCard,
  ExternalItem,
  ExternalStats,
  Key,
  NewKey,
  Organization,
  Project,
  Stats,
  Shortcuts,
  UserSettings,
  Template,
}
const conversion = { target: 'draft-2020-12', errorMode: 'ignore' } satisfies ConversionConfig
const outputs = {
  ...conversion,
  typeMode: 'output',
  overrideRef: ({ referenceId }) => `#/components/schemas/${referenceId}`,
} satisfies ConversionConfig

let made: Document | undefined

/** The API as an OpenAPI 3.1 document, derived from the contract. It is made when it is first asked for. */
export const openApiDocument = (): Document => (made ??= makeDocument())

function makeDocument(): Document {
  const paths: Document['paths'] = {}
  for (const [resource, rows] of Object.entries(contract)) {
    for (const [name, route] of Object.entries(rows) as Array<[string, Route]>)
      (paths[route.path] ??= {})[route.method.toLowerCase()] = operation(resource, name, route)
  }
  return {
    openapi: '3.1.1',
    info: { title: 'board', version, description },
    servers: [{ url: '/' }],
    tags: Object.keys(contract).map(name => ({ name })),
    paths,
    components: {
      schemas: { ...toJsonSchemaDefs(records, outputs), Failure: failure },
      responses: failures(),
      securitySchemes,
    },
  }
}

const description = `A project board server that runs coding agents.

Success is \`{"data": ...}\`; 204 has no body. Failure is \`{"error": {"code", "message", "details"}}\`. Every answer carries \`X-Request-Id\`.
Each route names the statuses that it can answer; what is no whole HTTP request gets 400, 408, 413, 417 or 431 before a route is looked for.
Routes below \`/api/external\` take and return integer ids, all others decimal strings. Times are ISO 8601, UTC, with milliseconds.`

const securitySchemes = {
  signIn: {
    type: 'http',
    scheme: 'bearer',
    description: 'The token of POST /api/auth/login (svc_st_...), or the local token of a running server.',
  },
  apiKey: { type: 'http', scheme: 'bearer', description: 'An API key (svc_ak_...) with the named permission.' },
  agentToken: { type: 'http', scheme: 'bearer', description: 'An agent token (svc_at_...) of one card.' },
}

const failure: Schema = {
  type: 'object',
  required: ['error'],
  properties: {
    error: {
      type: 'object',
      required: ['code', 'message'],
      properties: {
        code: { type: 'string', enum: Object.keys(errors) },
        message: { type: 'string' },
        details: {
          type: 'array',
          items: {
            type: 'object',
            required: ['path', 'message'],
            properties: { path: { type: 'string' }, message: { type: 'string' } },
          },
        },
      },
    },
  },
}

/** One answer for each status of the error table. */
function failures(): Record<string, Answer> {
  const codes = new Map<number, string[]>()
  for (const [code, [status]] of Object.entries(errors)) codes.set(status, [...(codes.get(status) ?? []), code])
  return Object.fromEntries(
    [...codes].map(([status, names]) => [
      `Failure${status}`,
      {
        description: names.join(', '),
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Failure' } } },
      },
    ]),
  )
}

function operation(resource: string, name: string, route: Route): Operation {
  const body = requestBody(route)
  return {
    operationId: `${resource}${name[0]!.toUpperCase()}${name.slice(1)}`,
    tags: [resource],
    summary: route.summary,
    description: describe(route),
    security: security(route.who),
    parameters: parameters(resource, route),
    ...(body && { requestBody: body }),
    responses: responses(resource, route),
  }
}

const describe = ({ who, emits }: Route) => [whoText(who), ...(emits ? [`Emits ${emits.join(', ')}.`] : [])].join(' ')
function whoText(who: Who): string {
  if (who.kind === 'member') return `Needs the project role ${who.role} or more.`
  return who.kind === 'organization'
    ? `Needs the organization role ${who.role}${who.role === 'member' ? ' or more' : ''}.`
    : whoTexts[who.kind]
}
const whoTexts = {
  public: 'Open to everybody.',
  user: 'Needs a sign-in.',
  admin: 'Needs the role admin or super_admin.',
  super: 'Needs the role super_admin.',
  local: 'Open to the account that the server runs under, on its machine; all others need the role super_admin.',
  key: 'Needs an API key with one of the permissions.',
  agent: 'Needs an agent token of the card.',
  agentOrUser: 'Needs an agent token or a sign-in.',
  token: 'Needs any token.',
}

function security(who: Who): Operation['security'] {
  if (who.kind === 'public') return []
  if (who.kind === 'key') return who.permissions.map(permission => ({ apiKey: [permission] }))
  if (who.kind === 'agent') return [{ agentToken: [] }]
  if (who.kind === 'agentOrUser') return [{ agentToken: [] }, { signIn: [] }]
  if (who.kind === 'token') return [{ signIn: [] }, { apiKey: [] }, { agentToken: [] }]
  if (who.kind === 'local') return [{}, { signIn: [] }]
  return [
    { signIn: [] },
    ...((who.kind === 'member' || who.kind === 'super') && who.permission ? [{ apiKey: [who.permission] }] : []),
  ]
}

/** Routes that a version guards. */
const honoursIfMatch = (resource: string, route: Route) =>
  route.method === 'PATCH' &&
  route.path.includes('{cardId}') &&
  !route.path.endsWith('/auto-mode') &&
  (resource === 'cards' || resource === 'external')

function parameters(resource: string, route: Route): Parameter[] {
  const path = paramsOf(route.path).map((name): Parameter => ({
    name,
    in: 'path',
    required: true,
    schema: paramSchema(route, name),
  }))
  const query =
    (sendsBody(route) && route.transfer !== 'upload') || !route.input ? [] : queryParameters(inputSchema(route.input))
  return [
    ...path,
    ...query,
    ...(honoursIfMatch(resource, route)
      ? [
          {
            name: 'If-Match',
            in: 'header' as const,
            required: false,
            schema: { type: 'string' as const },
            description: 'The ETag of the version that may be changed.',
          },
        ]
      : []),
    ...(takesIdempotencyKey(route)
      ? [
          {
            name: 'Idempotency-Key',
            in: 'header' as const,
            required: false,
            schema: { type: 'string' as const, maxLength: 255 },
            description: 'The same key and request within 24 hours get the same answer.',
          },
        ]
      : []),
  ]
}

function paramSchema(route: Route, name: string): Schema {
  if ((textParams as readonly string[]).includes(name)) return { type: 'string' }
  return isExternal(route.path) ? { type: 'integer', minimum: 1 } : { type: 'string', pattern: '^[1-9]\\d{0,15}$' }
}

const queryParameters = ({ properties = {}, required = [] }: Schema): Parameter[] =>
  Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    schema: plainInQuery(schema as Schema),
  }))

/** A query string holds texts: a number or a boolean that also comes as text is described as what it means. */
function plainInQuery({ anyOf, ...schema }: Schema): Schema {
  const types = (anyOf ?? []).map(each => (each as Schema).type)
  if (types.includes('boolean')) return { ...schema, type: 'boolean' }
  return types.includes('number') ? { ...schema, type: 'integer' } : { ...(anyOf && { anyOf }), ...schema }
}

const sendsBody = ({ method }: Route) => method !== 'GET' && method !== 'DELETE'
const inputSchema = (schema: GenericSchema): Schema =>
  withoutDialect(toJsonSchema(schema, { ...conversion, typeMode: 'input' }))

function requestBody(route: Route): Operation['requestBody'] {
  if (route.transfer === 'upload')
    return {
      required: true,
      content: {
        'multipart/form-data': {
          schema: {
            type: 'object',
            required: ['file'],
            properties: { file: { type: 'string', contentMediaType: 'application/octet-stream' } },
          },
        },
      },
    }
  if (!route.input || !sendsBody(route)) return undefined
  const schema = inputSchema(route.input)
  return { required: (schema.required ?? []).length > 0, content: { 'application/json': { schema } } }
}

function responses(resource: string, route: Route): Operation['responses'] {
  const codes = [...failuresOf(route), ...(honoursIfMatch(resource, route) ? (['VERSION_CONFLICT'] as const) : [])]
  const statuses = [...new Set(codes.map(code => errors[code][0]))].sort((one, other) => one - other)
  return {
    ...success(route),
    ...Object.fromEntries(statuses.map(status => [status, { $ref: `#/components/responses/Failure${status}` }])),
  }
}

const rawAnswers: Record<string, Operation['responses']> = {
  '/': { 200: { description: 'A page', content: { 'text/html': { schema: { type: 'string' } } } } },
  '/metrics': { 200: { description: 'The figures', content: { 'text/plain': { schema: { type: 'string' } } } } },
  '/api/docs': {
    200: { description: 'A page', content: { 'text/html': { schema: { type: 'string' } } } },
    304: { description: 'The client has the page' },
  },
  '/api/openapi.json': {
    200: { description: 'The document', content: { 'application/json': { schema: { type: 'object' } } } },
    304: { description: 'The client has the document' },
  },
  '/api/ws': { 101: { description: 'The WebSocket is open' } },
  '/api/oidc/login': {
    302: { description: 'A redirect to the identity provider' },
  },
  '/api/oidc/callback': {
    200: { description: 'A page that says who is signed in', content: { 'text/html': { schema: { type: 'string' } } } },
    302: { description: 'A redirect to the program that waits for the one-time code' },
  },
  '/api/mcp': {
    200: { description: 'The answer', content: { 'application/json': { schema: { type: 'object' } } } },
    202: { description: 'The message needs no answer' },
  },
}
const bytes: Answer = { description: 'The file', content: { 'application/octet-stream': { schema: {} } } }

function success(route: Route): Operation['responses'] {
  if (route.transfer === 'raw') return rawAnswers[route.path]!
  if (route.transfer === 'file')
    return {
      200: bytes,
      206: { ...bytes, description: 'A range of the file' },
      304: { description: 'The client has the file' },
      416: { $ref: '#/components/responses/Failure416' },
    }
  if (!route.output) return { [route.status]: { description: 'Done' } }
  const data = withoutDialect(toJsonSchema(route.output, { ...outputs, definitions: records }))
  return {
    [route.status]: {
      description: route.status === 201 ? 'Created' : 'Success',
      content: { 'application/json': { schema: { type: 'object', required: ['data'], properties: { data } } } },
    },
  }
}

function withoutDialect(schema: Schema): Schema {
  delete schema.$schema
  delete schema.$defs
  return schema
}
