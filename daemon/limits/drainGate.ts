import type { IncomingMessage, ServerResponse } from 'node:http'
import { Problem } from '../../src/contract/errors.ts'
import { contract } from '../../src/contract/index.ts'
import { commonHeaders } from '../http/response.ts'
import { nextRequestId } from '../http/requestId.ts'

export type Listener = (request: IncomingMessage, response: ServerResponse) => void

/** The requests that pass: all, reads, or only the health check. */
type GateState = 'open' | 'reading' | 'closed'

/** The entry of all requests. It tracks those in progress, and can refuse new ones for a while. */
export interface DrainGate {
  listen: Listener
  /**
   * Refuses requests that the state does not allow, and resolves when none of those is in progress; after the timeout
   * they are aborted, save `except`.
   */
  drain(opening: GateState, except: IncomingMessage | undefined, timeoutMs: number): Promise<void>
  reopen(): void
}

const alwaysAnswered: string = contract.server.health.path

/** @param answer what answers the requests that are let through, now */
export function createDrainGate(answer: () => Listener): DrainGate {
  const active = new Map<ServerResponse, IncomingMessage>()
  let opening: GateState = 'open'
  const isLetThrough = ({ method, url }: IncomingMessage, by: GateState) =>
    by === 'open' || url === alwaysAnswered || (by === 'reading' && (method === 'GET' || method === 'HEAD'))

  const untilEnded = (except: IncomingMessage | undefined) =>
    Promise.all(
      [...active]
        .filter(([, request]) => request !== except && !isLetThrough(request, opening))
        .map(([response]) => new Promise(resolve => response.once('close', resolve))),
    )
  return {
    listen: (request, response) => {
      if (!isLetThrough(request, opening)) return refuse(request, response)
      active.set(response, request)
      response.once('close', () => active.delete(response))
      answer()(request, response)
    },
    drain: async (to, except, timeoutMs) => {
      opening = to
      const cutOff = setTimeout(() => {
        for (const [response, request] of active)
          if (request !== except && !isLetThrough(request, opening)) response.destroy()
      }, timeoutMs)
      await untilEnded(except)
      clearTimeout(cutOff)
    },
    reopen: () => {
      opening = 'open'
    },
  }
}

function refuse(request: IncomingMessage, response: ServerResponse): void {
  const problem = new Problem('SHUTTING_DOWN', 'The server is reopening its database. Try again in a few seconds.', {
    retryAfterSecs: 2,
  })
  request.resume()
  response.writeHead(problem.status, {
    ...commonHeaders(nextRequestId()),
    'content-type': 'application/json; charset=utf-8',
    'retry-after': String(problem.retryAfterSecs),
  })
  response.end(request.method === 'HEAD' ? undefined : JSON.stringify({ error: problem }))
}
