import { Problem, type Detail, type ErrorCode } from '../contract/errors.ts'

/** An error in transit from another thread or process. */
export type EncodedError =
  | {
      kind: 'problem'
      code: ErrorCode
      message: string
      details?: readonly Detail[]
      retryAfterSecs?: number
      cause?: string
    }
  | { kind: 'error'; message: string; code?: string; syscall?: string; stack?: string }

export function encodeError(error: unknown): EncodedError {
  if (error instanceof Problem) {
    const { code, message, details, retryAfterSecs, cause } = error
    return {
      kind: 'problem',
      code,
      message,
      details,
      retryAfterSecs,
      ...(cause instanceof Error && { cause: cause.message }),
    }
  }
  const { message, code, syscall, stack } = error as NodeJS.ErrnoException
  return { kind: 'error', message, code, syscall, stack }
}

export function decodeError(encoded: EncodedError): Error {
  if (encoded.kind === 'problem') {
    const { code, message, cause, ...options } = encoded
    return new Problem(code, message, { ...options, ...(cause !== undefined && { cause: new Error(cause) }) })
  }
  const { message, kind: _, ...fields } = encoded
  return Object.assign(new Error(message), fields)
}
