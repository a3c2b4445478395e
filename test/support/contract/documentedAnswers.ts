import { expect } from 'vitest'
import type { OpenApiDocument, Operation } from '../../../daemon/documents/openapiTypes.ts'
import type { Reply, TestBoard } from '../servers/testBoard.ts'
import type { Row } from './examples.ts'

/** The responses of each route in the OpenAPI document, as a client reads it. */
export interface DocumentedAnswers {
  operationOf(row: Row): Operation
  offers(row: Row, header: 'If-Match' | 'Idempotency-Key'): boolean
  codesOf(row: Row, status: number): string[]
  /** Expects a response to have the content type in the document for its status. */
  expectDocumented(row: Row, reply: Pick<Reply, 'status' | 'headers' | 'text'>): void
}

export async function readDocumentedAnswers(board: TestBoard): Promise<DocumentedAnswers> {
  const document = (await board.request('GET', '/api/openapi.json', { token: null })).body as OpenApiDocument
  const operationOf = ({ route }: Row): Operation => document.paths[route.path]![route.method.toLowerCase()]!
  return {
    operationOf,
    offers: (row, header) =>
      operationOf(row).parameters.some(({ name, in: place }) => place === 'header' && name === header),
    codesOf: (row, status) => operationOf(row).responses[status]?.description.split(', ') ?? [],
    expectDocumented: (row, { status, headers, text }) => {
      const promised = operationOf(row).responses[status]
      expect(promised, `${row.name} ${status}`).toBeDefined()
      const [type] = Object.keys(promised!.content ?? {})
      if (type === undefined) return expect([headers.get('content-type') ?? '', text]).toEqual([expect.anything(), ''])
      expect(headers.get('content-type')?.split(';')[0]).toMatch(
        new RegExp(`^${type.replaceAll('*', '[\\w.+-]+').replaceAll('/', '\\/')}$`),
      )
    },
  }
}

/** How many responses a board keeps for an Idempotency-Key. */
export const countStoredAnswers = async (board: TestBoard, key: string): Promise<number> =>
  (await board.server.app.db.get<{ total: number }>('SELECT count(*) AS total FROM idempotent_answers WHERE key = ?', [
    key,
  ]))!.total

/** Rows that change the whole server, or need a provider or a client that upgrades. */
export const serverRows = [
  'auth.setup',
  'auth.logout',
  'backups.restore',
  'oidc.login',
  'oidc.callback',
  'oauth.authorize',
  'server.socket',
]
