import { openApiDocument } from '../daemon/documents/openapi.ts'
import type { TestBoard } from './helper.ts'

/** What a board has answered so far that the OpenAPI document does not name, by its own figures: `DELETE /api/keys/{id} 409`. */
export async function undeclaredAnswers({ server }: Pick<TestBoard, 'server'>): Promise<string[]> {
  const { paths } = openApiDocument()
  const { text } = await server.app.metrics.text()
  return [...text.matchAll(/^board_request_seconds_count\{method="(\w+)",route="([^"]+)",status="(\d+)"\}/gm)]
    .filter(([, method, route, status]) => {
      const operations = paths[route!]
      const operation = operations?.[method === 'HEAD' ? 'get' : method!.toLowerCase()]
      return operation && !Object.hasOwn(operation.responses, status!)
    })
    .map(([, method, route, status]) => `${method} ${route} ${status}`)
}
