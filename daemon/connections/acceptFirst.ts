import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Listener } from '../limits/drainGate.ts'

/**
 * The maximum number of connections that requests wait for. A flood of connections delays answers but does not
 * prevent them.
 */
const maxAccepted = 64

/**
 * Delays requests while connections arrive. Otherwise, Node accepts one connection per tick of its event loop, and serves all
 * open ones in between. Measured without it: of 32 clients that connected at once, the last one waited 190 ms for its first
 * list, and 12 ms for each later one.
 */
export function acceptFirst(answer: Listener): { listen: Listener; watch(server: Server): void } {
  let waiting: Array<[IncomingMessage, ServerResponse]> = []
  let accepted = 0
  let acceptedBefore = 0
  const answerWaiting = (request: IncomingMessage, response: ServerResponse) => {
    // The handler waits for 'close', which has already been emitted.
    if (!response.destroyed) answer(request, response)
  }
  const checkAccepted = () => {
    if (accepted > acceptedBefore && accepted < maxAccepted) {
      acceptedBefore = accepted
      return void setImmediate(checkAccepted)
    }
    accepted = acceptedBefore = 0
    for (const [request, response] of waiting) setImmediate(answerWaiting, request, response)
    waiting = []
  }
  return {
    listen: (request, response) => {
      if (accepted === 0) answer(request, response)
      else waiting.push([request, response])
    },
    watch: server => {
      server.on('connection', () => {
        if (++accepted === 1) setImmediate(checkAccepted)
      })
    },
  }
}
