import { ApiFailure, Unreachable } from '../../../src/client/failures.ts'

/** What went wrong, in a sentence for people, with the fields that are wrong. */
export function reasonOf(error: unknown): string {
  if (error instanceof ApiFailure) {
    const details = error.details.map(({ path, message }) => `${path} ${message}`).join('; ')
    const wait = error.retryAfterSecs === undefined ? '' : ` Try again in ${error.retryAfterSecs} s.`
    return `${error.message}${details === '' ? '' : ` (${details})`}${wait}`
  }
  if (error instanceof Unreachable) return 'The server does not answer. What you typed is kept; try again in a moment.'
  return error instanceof Error ? error.message : String(error)
}

/** What is wrong with a field of a form, by the server's own words. */
export const fieldReason = (error: unknown, field: string): string | undefined =>
  error instanceof ApiFailure ? error.details.find(each => each.path === field)?.message : undefined
