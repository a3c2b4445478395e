import { ApiFailure, Unreachable } from '../../../src/client/failures.ts'

/** Returns an error as a sentence for people, with the invalid fields. */
export function reasonOf(error: unknown): string {
  if (error instanceof ApiFailure) {
    const details = error.details.map(({ path, message }) => `${path} ${message}`).join('; ')
    const wait = error.retryAfterSecs === undefined ? '' : ` Try again in ${error.retryAfterSecs} s.`
    return `${error.message}${details === '' ? '' : ` (${details})`}${wait}`
  }
  if (error instanceof Unreachable) return 'The server does not answer. Your text is kept. Try again in a few seconds.'
  return error instanceof Error ? error.message : String(error)
}

/** Returns the server's error for a field of a form. */
export const fieldReason = (error: unknown, field: string): string | undefined =>
  error instanceof ApiFailure ? error.details.find(each => each.path === field)?.message : undefined
