import { openApiDocument } from '../../../daemon/documents/openapi.ts'
import type { RunningServer } from '../../../daemon/process/startServer.ts'

/** A failure that a test received. */
export interface Refusal {
  method: string
  path: string
  status: number
  code: string
}

/** The responses of a board so far that the OpenAPI document does not list: `DELETE /api/keys/{id} 409`, from the board's metrics, and `... 409 CONFLICT`, from its tests. */
export async function undeclaredAnswers({
  server,
  refusals,
}: {
  server: RunningServer
  refusals: readonly Refusal[]
}): Promise<string[]> {
  const { text } = await server.app.metrics.text()
  const statuses = [
    ...text.matchAll(/^board_request_seconds_count\{method="(\w+)",route="([^"]+)",status="(\d+)"\}/gm),
  ].map(([, method, route, status]) => ({ method: method!, route: route!, status: Number(status), code: undefined }))
  const codes = refusals.map(({ path, ...refusal }) => ({ ...refusal, route: templateOf(path) }))
  const undeclared = [...statuses, ...codes]
    .filter(each => !isDeclared(each))
    .map(({ method, route, status, code }) => [method, route, status, ...(code === undefined ? [] : [code])].join(' '))
  return [...new Set(undeclared)]
}

function isDeclared(answer: { method: string; route?: string; status: number; code?: string }): boolean {
  const { method, route, status, code } = answer
  const operation = openApiDocument().paths[route ?? '']?.[method === 'HEAD' ? 'get' : method.toLowerCase()]
  if (!operation) return true
  const declared = operation.responses[status]
  return declared !== undefined && (code === undefined || declared.description.split(', ').includes(code))
}

let templates: ReadonlyArray<{ template: string; pattern: RegExp }> | undefined

/** The row's path that matches a request's path. One without parameters takes precedence. */
function templateOf(path: string): string | undefined {
  templates ??= Object.keys(openApiDocument().paths)
    .sort((one, other) => params(one) - params(other))
    .map(template => ({ template, pattern: new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]+')}$`) }))
  const plain = path.split('?')[0]!
  return templates.find(({ pattern }) => pattern.test(plain))?.template
}

const params = (template: string) => template.split('{').length
