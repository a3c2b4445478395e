import type { IncomingMessage, ServerResponse } from 'node:http'
import type { App } from '../../src/app.ts'
import type { Problem } from '../../src/contract/errors.ts'
import type { Route } from '../../src/contract/route.ts'
import type { Caller } from '../../src/domain/accounts/caller.ts'
import type { AuditTrail } from './auditTrail.ts'
import { oauthChallenge } from '../documents/oauthMetadata.ts'
import { nextRequestId } from './requestId.ts'
import { oauthFailure } from './oauthFailure.ts'
import type { Answered } from './requestLog.ts'
import { commonHeaders, presentFailure, send, toProblem, type Answer, type Headers } from './response.ts'

/** Logs and counts an answered request. */
export type Note = (answered: Answered) => void

/** The services that the answer to a request uses. */
export interface Responder {
  app: Pick<App, 'config' | 'peerOf'>
  note: Note
}

/** A request and its state so far. */
export interface Exchange {
  req: IncomingMessage
  res: ServerResponse
  route: Route | undefined
  requestId: string
  /** The headers of the response. */
  headers: Headers
  startedAtMs: number
  caller: Caller | undefined
  /** The input of the request that has been read so far. */
  input: Record<string, unknown>
  audit: AuditTrail | undefined
}

/** @param route undefined if the contract has no such row */
export function beginExchange(
  req: IncomingMessage,
  res: ServerResponse,
  route: Route | undefined,
  headers?: Headers,
): Exchange {
  const requestId = nextRequestId()
  return {
    req,
    res,
    route,
    requestId,
    headers: Object.assign(commonHeaders(requestId), headers),
    startedAtMs: performance.now(),
    caller: undefined,
    input: {},
    audit: undefined,
  }
}

/** Sends the answer, and notes it. */
export function sendAnswer({ app, note }: Responder, exchange: Exchange, answer: Answer, problem?: Problem): Response {
  const { req, res, route, requestId, caller, startedAtMs } = exchange
  const response = send(res, answer)
  note({
    method: req.method ?? '',
    route: route?.path ?? null,
    status: answer.status,
    tookMs: performance.now() - startedAtMs,
    requestId,
    caller,
    isSignIn: route?.who.kind === 'public' && route.audited !== undefined,
    ...(problem && { problem, address: app.peerOf(req).address }),
  })
  return response
}

/** Sends the error in its envelope, and notes it. */
export function sendError(server: Responder, exchange: Exchange, error: unknown): Response {
  const { requestId, headers, route, req } = exchange
  const problem = toProblem(error, requestId)
  if (problem.status === 401 && route?.challenges) headers['www-authenticate'] = oauthChallenge(server.app, req)
  const answer = presentFailure(problem, requestId, headers, route?.oauth && oauthFailure)
  return sendAnswer(server, exchange, answer, problem)
}
