import { describeError } from '../../failures/report.ts'

/** The reason of a failure, as a sentence. */
export function reasonOf(error: unknown): string {
  const text = describeError(error).message
  return `${text[0]?.toUpperCase() ?? ''}${text.slice(1)}.`
}
