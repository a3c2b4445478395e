import type { ServerResponse } from 'node:http'
import { FastResponse } from 'srvx'
import { errors, Problem } from '../../src/contract/errors.ts'
import { ForeignKeyViolation, UniqueViolation } from '../../src/store/engine/database.ts'
import { Json } from './handlers.ts'

export type Headers = Record<string, string>

/** The headers of every answer. */
export const commonHeaders = (requestId: string): Headers => ({
  'x-request-id': requestId,
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
})

/** A response that has not been sent yet: text, or the handler's own response. */
export type Answer = { status: number; headers: Headers; text: string } | Response

/** Wraps a handler's result in its envelope: `{"data": ...}`, 204 without a result, or an unchanged Response. */
export function toAnswer(result: unknown, status: number, headers: Headers): Answer {
  if (result instanceof Response) {
    for (const [name, value] of Object.entries(headers)) if (!result.headers.has(name)) result.headers.set(name, value)
    return result
  }
  if (result === undefined) return new FastResponse(null, { status: 204, headers })
  headers['content-type'] = 'application/json; charset=utf-8'
  const { version } = result as { version?: unknown }
  if (typeof version === 'number') headers.etag = `"${version}"`
  return { status, headers, text: `{"data":${result instanceof Json ? result.text : JSON.stringify(result)}}` }
}

/**
 * Returns a failure in its envelope (specification "Errors"), or in the format of the standard that a row follows. An error that
 * is not a Problem is a 500 with only the request ID.
 */
export function presentFailure(
  error: unknown,
  requestId: string,
  headers: Headers,
  inWords: (problem: Problem) => object = errorEnvelope,
): Answer {
  const problem = toProblem(error, requestId)
  headers['content-type'] = 'application/json; charset=utf-8'
  if (problem.retryAfterSecs !== undefined)
    headers['retry-after'] = String(Math.max(1, Math.ceil(problem.retryAfterSecs)))
  if (problem.status === 401) headers['www-authenticate'] ??= 'Bearer'
  if (problem.status === 413 || problem.status === 408) headers.connection = 'close'
  return { status: errors[problem.code][0], headers, text: JSON.stringify(inWords(problem)) }
}

const errorEnvelope = (problem: Problem) => ({ error: problem })

/**
 * The response for the framework after a direct write. The framework always ends a response, and a second end would
 * create an error each time.
 */
const written = new FastResponse(null)

/**
 * Writes a text answer and returns the response for the framework. ASCII text has the same bytes in Latin-1, which Node writes
 * at less than half the cost of UTF-8: a page of 50 cards is 30 KB.
 */
export function send(response: ServerResponse, answer: Answer): Response {
  if (answer instanceof Response) return answer
  const { status, headers, text } = answer
  const bytes = Buffer.byteLength(text)
  headers['content-length'] = String(bytes)
  response.writeHead(status, headers).write(text, bytes === text.length ? 'latin1' : 'utf8')
  return written
}

export function toProblem(error: unknown, requestId: string): Problem {
  if (error instanceof Problem) return error
  if (['ENOSPC', 'EDQUOT', 'EFBIG'].includes(String((error as NodeJS.ErrnoException | undefined)?.code)))
    return new Problem('DISK_FULL', undefined, { cause: error, retryAfterSecs: 30 })
  if (error instanceof ForeignKeyViolation)
    return new Problem('NOT_FOUND', 'A record that this request requires was deleted in the meantime.', {
      cause: error,
    })
  if (error instanceof UniqueViolation) return new Problem('CONFLICT', undefined, { cause: error })
  return new Problem(
    'INTERNAL',
    `Internal server error. The server's log has the details under request ${requestId}.`,
    {
      cause: error,
    },
  )
}
