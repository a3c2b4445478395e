import type { ServerResponse } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import type { Wire } from './wire.ts'

/** A fault of a forge, for the next matching requests. */
export interface Fault {
  /** The number of affected requests, by default one. */
  times?: number
  /** The affected requests: "GET /api/v3/user" and so on. By default any request to the API. */
  match?: RegExp
  /** Responds with this status. */
  status?: number
  headers?: Record<string, string>
  /** A string is sent verbatim. */
  body?: unknown
  /** Waits this long, and then responds as usual unless another field is set. Stops waiting when the forge is closed. */
  delayMs?: number
  /** Performs the request, starts the response and then breaks the connection. */
  cutOff?: boolean
  /** Performs the request, but breaks the connection without a response. */
  loseAnswer?: boolean
  /** Performs the request, and responds only after this promise. */
  answerAfter?: Promise<unknown>
  /** Responds with a rate limit, for this many seconds. */
  limit?: { kind: 'primary' | 'secondary'; seconds: number }
}

export class Faults {
  readonly #pending: { fault: Fault; left: number }[] = []
  readonly #closing = new AbortController()

  add(fault: Fault): void {
    this.#pending.push({ fault, left: fault.times ?? 1 })
  }

  clear(): void {
    this.#pending.length = 0
  }

  /** Applies the fault that matches this request: waits, and responds if the fault has a response. */
  async meet(request: string, wire: Wire, response: ServerResponse): Promise<Fault | 'answered' | undefined> {
    const found = this.#pending.find(({ fault, left }) => left > 0 && (fault.match ?? /./).test(request))
    if (!found) return undefined
    found.left--
    const { fault } = found
    if (fault.delayMs !== undefined)
      await delay(fault.delayMs, undefined, { signal: this.#closing.signal }).catch(() => undefined)
    const { status, headers, body } = fault.limit
      ? wire.limited(fault.limit.kind, fault.limit.seconds)
      : { status: fault.status, headers: fault.headers ?? {}, body: fault.body }
    if (status === undefined) return fault
    const isText = typeof body === 'string'
    response.writeHead(status, {
      'content-type': isText ? 'text/html; charset=utf-8' : 'application/json; charset=utf-8',
      ...headers,
    })
    response.end(isText ? body : JSON.stringify(body ?? wire.refusal(status, 'Server Error')))
    return 'answered'
  }

  close(): void {
    this.#closing.abort()
  }
}
