import { describe } from '../../failures/report.ts'

/** The reason of a failure, as a sentence. */
export function reasonOf(error: unknown): string {
  const text = describe(error).message
  return `${text[0]?.toUpperCase() ?? ''}${text.slice(1)}.`
}
