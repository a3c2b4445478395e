import type { Detail } from '../contract/errors.ts'
import { hintFor } from './unreachable.ts'

/** The request, with a description of its body. */
export interface SentRequest {
  path: string
  input?: unknown
}

/** The server answered with an error envelope. */
export class ApiFailure extends Error {
  readonly status: number
  readonly code: string
  readonly details: readonly Detail[]
  readonly requestId: string | undefined
  /** The number of whole seconds to wait, from `Retry-After`. */
  readonly retryAfterSecs: number | undefined
  readonly asked: SentRequest | undefined

  constructor(
    status: number,
    body: unknown,
    headers: Record<string, string | string[] | undefined>,
    asked?: SentRequest,
  ) {
    const error = (body as { error?: { code?: string; message?: string; details?: Detail[] } } | undefined)?.error
    super(error?.message ?? `The server answered with status ${status}.`)
    this.name = 'ApiFailure'
    this.status = status
    this.code = error?.code ?? 'UNEXPECTED_ANSWER'
    this.details = error?.details ?? []
    this.requestId = headers['x-request-id'] as string | undefined
    const retryAfter = Number(headers['retry-after'])
    this.retryAfterSecs = Number.isFinite(retryAfter) ? retryAfter : undefined
    this.asked = asked
  }
}

/** There was no response from a board: refused, timed out, interrupted, not HTTP, or from another program. */
export class Unreachable extends Error {
  /** The fix, if it is known. */
  readonly hint: string | undefined

  constructor(url: string, cause: unknown, told?: { message: string; hint?: string }) {
    const { code, message } = cause as { code?: string; message: string }
    super(told?.message ?? `No answer from ${url} (${code ?? message}).`, { cause })
    this.name = 'Unreachable'
    this.hint = told ? told.hint : hintFor(new URL(url), code ?? '')
  }
}
