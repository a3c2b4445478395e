import type { IncomingMessage, ServerResponse } from 'node:http'
import { Problem } from '../../src/contract/errors.ts'
import { contract } from '../../src/contract/index.ts'
import { commonHeaders } from '../http/response.ts'
import { nextRequestId } from '../http/requestId.ts'

export type Listener = (request: IncomingMessage, response: ServerResponse) => void

/** The requests that the gate admits: all, reads, or only the health check. */
type GateState = 'open' | 'reading' | 'closed'

/** Admits or refuses requests, and tracks the active ones. */
export interface DrainGate {
  listen: Listener
  /**
   * Enters a state, and resolves when no request is active that the state refuses. After the timeout, these requests are
   * aborted. `except` is neither awaited nor aborted.
   */
  drain(to: GateState, except: IncomingMessage | undefined, timeoutMs: number): Promise<void>
  reopen(): void
}

const healthPath: string = contract.server.health.path

/** @param currentListener returns the listener that answers admitted requests */
export function createDrainGate(currentListener: () => Listener): DrainGate {
  const active = new Map<ServerResponse, IncomingMessage>()
  let state: GateState = 'open'
  const isAdmitted = ({ method, url }: IncomingMessage) =>
    state === 'open' || url === healthPath || (state === 'reading' && (method === 'GET' || method === 'HEAD'))

  /** The responses of active requests that the state refuses. */
  const listRefused = (except: IncomingMessage | undefined): ServerResponse[] =>
    [...active].filter(([, request]) => request !== except && !isAdmitted(request)).map(([response]) => response)
  return {
    listen: (request, response) => {
      if (!isAdmitted(request)) return refuse(request, response)
      active.set(response, request)
      response.once('close', () => active.delete(response))
      currentListener()(request, response)
    },
    drain: async (to, except, timeoutMs) => {
      state = to
      const timeout = setTimeout(() => {
        for (const response of listRefused(except)) response.destroy()
      }, timeoutMs)
      await Promise.all(listRefused(except).map(response => new Promise(resolve => response.once('close', resolve))))
      clearTimeout(timeout)
    },
    reopen: () => {
      state = 'open'
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
