import { describe } from '../../failures/report.ts'

/** Why something failed, as a sentence. */
export function reasonOf(error: unknown): string {
  const text = describe(error).message
  return `${text[0]?.toUpperCase() ?? ''}${text.slice(1)}.`
}
