import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Problem } from '../../src/contract/errors.ts'
import { commonHeaders, presentFailure } from '../http/response.ts'
import { refuseConnection } from './refuseConnection.ts'
import type { Answered } from '../http/requestLog.ts'
import { nextRequestId } from '../http/requestId.ts'

/**
 * Answers in the error envelope the requests that Node would answer with an empty body: heads that are too long, too
 * slow or not HTTP, and unsupported expectations. A request without Host is left to the host guard.
 */
export function handleMalformedRequests(server: Server, note: (answered: Answered) => void): void {
  Object.assign(server, { requireHostHeader: false })
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const { _httpMessage: begun } = socket as { _httpMessage?: ServerResponse }
    // Without a TLS session, the client could not read an answer.
    const isUnreadable = error.code === 'ECONNRESET' || /^(ERR_SSL|ERR_TLS|EPROTO)/.test(error.code ?? '')
    if (!socket.writable || isUnreadable || begun?.headersSent) return void socket.destroy()
    const problem = problemOf(error)
    note(noteOf(problem, refuseConnection(socket, problem), socket as Socket))
  })
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    const requestId = nextRequestId()
    const problem = new Problem('EXPECTATION_FAILED')
    const answer = presentFailure(problem, requestId, commonHeaders(requestId))
    const { status, headers, text } = answer as Exclude<typeof answer, Response>
    request.resume()
    response
      .writeHead(status, { ...headers, 'content-length': String(Buffer.byteLength(text)), connection: 'close' })
      .end(text)
    note(noteOf(problem, requestId, request.socket))
  })
}

function problemOf({ code }: NodeJS.ErrnoException): Problem {
  if (code === 'HPE_HEADER_OVERFLOW') return new Problem('HEADERS_TOO_LARGE')
  if (code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW')
    return new Problem('BODY_TOO_LARGE', 'The extensions of a chunk are too long.')
  return new Problem(code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 'REQUEST_TIMEOUT' : 'BAD_REQUEST')
}

const noteOf = (problem: Problem, requestId: string, { remoteAddress }: Socket): Answered => ({
  method: '(unread)',
  route: null,
  status: problem.status,
  tookMs: 0,
  requestId,
  problem,
  address: remoteAddress,
  isSignIn: false,
})
