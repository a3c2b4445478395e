import type { Detail } from '../contract/errors.ts'

/** The server answered with an error envelope. */
export class ApiFailure extends Error {
  readonly status: number
  readonly code: string
  readonly details: readonly Detail[]
  readonly requestId: string | undefined
  /** Whole seconds that the server asks to wait, from `Retry-After`. */
  readonly retryAfterSecs: number | undefined

  constructor(status: number, body: unknown, headers: Record<string, string | string[] | undefined>) {
    const error = (body as { error?: { code?: string; message?: string; details?: Detail[] } } | undefined)?.error
    super(error?.message ?? `The server answered with status ${status}.`)
    this.name = 'ApiFailure'
    this.status = status
    this.code = error?.code ?? 'UNEXPECTED_ANSWER'
    this.details = error?.details ?? []
    this.requestId = headers['x-request-id'] as string | undefined
    const retryAfter = Number(headers['retry-after'])
    this.retryAfterSecs = Number.isFinite(retryAfter) ? retryAfter : undefined
  }
}

/** No answer came: refused, timed out, broken off, or not HTTP. */
export class Unreachable extends Error {
  constructor(url: string, cause: unknown) {
    const { code, message } = cause as NodeJS.ErrnoException
    super(`No answer from ${url} (${code ?? message}).`, { cause })
    this.name = 'Unreachable'
  }
}
