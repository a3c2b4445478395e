import { openApiDocument } from '../../daemon/documents/openapi.ts'
import type { Operation } from '../../daemon/documents/openapiTypes.ts'
import { errors } from '../../src/contract/errors.ts'
import { events } from '../../src/contract/server/events.ts'
import { cell, code, table } from './markdown.ts'

/** Renders docs/api.md: every route with its callers, the events, and the error codes. */
export function apiReference(): string {
  const { paths, tags, info } = openApiDocument()
  const routes = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  )
  const resources = tags.flatMap(({ name }) => [
    `### ${name}`,
    table(
      ['Route', 'Purpose', 'Callers'],
      routes
        .filter(({ operation }) => operation.tags[0] === name)
        .map(({ method, path, operation }) => [
          code(`${method} ${path}`),
          cell(purposeOf(operation)),
          cell(callersOf(operation)),
        ]),
    ),
  ])
  return [
    '# API',
    'Every route, event and error code of the server. The [client library](client.md) calls the same routes from JavaScript, and `board api` from the terminal:',
    '```sh\nboard api /api/projects\n```',
    'A running server has the parameters, bodies and responses of each route at `/api/docs`, and as an OpenAPI document at `/api/openapi.json`.',
    info.description.split('\n\n').slice(1).join('\n\n'),
    '## Routes',
    ...resources,
    '## Events',
    'An API key receives an event if it has one of the permissions. A person receives the events of the projects that they can view.',
    table(
      ['Event', 'Permissions'],
      Object.entries(events).map(([name, { permissions }]) => [
        code(name),
        permissions.length === 0 ? 'any permission of the project' : permissions.map(code).join(' or '),
      ]),
    ),
    '## Error codes',
    table(
      ['Code', 'Status', 'Message'],
      Object.entries(errors).map(([name, [status, message]]) => [code(name), String(status), cell(message)]),
    ),
    '',
  ].join('\n\n')
}

/** The summary, followed by the details if the description has a paragraph of them. */
function purposeOf({ summary, description }: Operation): string {
  const [details] = description.split('\n\n').slice(0, -1)
  return details === undefined ? summary : `${summary}. ${details}`
}

function callersOf({ description, security }: Operation): string {
  const permissions = security.flatMap(({ apiKey }) => apiKey ?? [])
  const who = description
    .split('\n\n')
    .at(-1)!
    .replace(/ ?(Emits|Limited:) .*/, '')
  return permissions.length === 0 || who.includes('API key') ? who : `${who} API keys: ${permissions.join(' or ')}.`
}
