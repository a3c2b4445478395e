import type { ServerResponse } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import type { Wire } from './wire.ts'

/** How a forge misbehaves, for the next requests that fit. */
export interface Fault {
  /** How many requests. Usually one. */
  times?: number
  /** Which: "GET /api/v3/user" and its like. Usually any request to the API. */
  match?: RegExp
  /** Answers with this status. */
  status?: number
  headers?: Record<string, string>
  /** A string is sent as it is. */
  body?: unknown
  /** Waits so long first, and then answers as ever where nothing else is said. Cut short when the forge is closed. */
  delayMs?: number
  /** Does what was asked, begins to answer and then breaks the connection. */
  cutOff?: boolean
  /** Does what was asked, but breaks the connection without an answer. */
  loseAnswer?: boolean
  /** Does what was asked, and answers only then. */
  answerAfter?: Promise<unknown>
  /** Says that too much was asked, for so many seconds. */
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

  /** Takes the fault that this request meets, waits as it says, and answers where it says how. */
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
