import { version } from '../../src/config/version.ts'
import { errors } from '../../src/contract/errors.ts'
import { contract } from '../../src/contract/index.ts'
import type { Route } from '../../src/contract/route.ts'
import { operationOf } from './openapiOperation.ts'
import { recordSchemas } from './openapiSchemas.ts'
import type { OpenApiDocument, Schema } from './openapiTypes.ts'

let made: OpenApiDocument | undefined

/** The API as an OpenAPI 3.1 document, derived from the contract. Created on the first request. */
export const openApiDocument = (): OpenApiDocument => (made ??= makeDocument())

function makeDocument(): OpenApiDocument {
  const paths: OpenApiDocument['paths'] = {}
  for (const [resource, rows] of Object.entries(contract)) {
    for (const [name, route] of Object.entries(rows) as Array<[string, Route]>)
      (paths[route.path] ??= {})[route.method.toLowerCase()] = operationOf(resource, name, route)
  }
  return {
    openapi: '3.1.1',
    info: { title: 'board', version, description },
    servers: [{ url: '/' }],
    tags: Object.keys(contract).map(name => ({ name })),
    paths,
    components: {
      schemas: { ...recordSchemas(), Failure: failure, OAuthFailure: oauthFailure },
      securitySchemes,
    },
  }
}

const description = `A project board server that runs coding agents.

A successful response contains its result in \`{"data": ...}\`. A response with status 204 has no body. An error response contains
\`{"error": {"code", "message", "details"}}\`. Every response has the header \`X-Request-Id\`.

Each route lists its possible statuses. The server rejects a malformed HTTP request with 400, 408, 413, 417 or 431 before it selects a route.

Routes below \`/api/external\` use integers as IDs. All other routes use decimal strings. Times are in ISO 8601 with milliseconds, in UTC.`

const securitySchemes = {
  signIn: {
    type: 'http',
    scheme: 'bearer',
    description: 'The token of POST /api/auth/login (svc_st_...), or the local token of a running server.',
  },
  apiKey: {
    type: 'http',
    scheme: 'bearer',
    description: 'An API key (svc_ak_...), or the token of a connected app (svc_ot_...), with the named permission.',
  },
  agentToken: { type: 'http', scheme: 'bearer', description: 'An agent token (svc_at_...) of one card.' },
}

const oauthFailure: Schema = {
  type: 'object',
  required: ['error', 'error_description'],
  properties: { error: { type: 'string' }, error_description: { type: 'string' } },
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
