import type { BaseIssue } from 'valibot'
import { Problem, type Detail } from '../contract/errors.ts'

const maxFaults = 20

/** What is wrong with a file, by its place there: the first 20 things are told, and the rest is not looked for. */
export class Faults {
  readonly #details: Detail[] = []

  /** @throws Problem INVALID_IMPORT with all faults once there are enough of them */
  add(path: string, message: string): void {
    this.#details.push({ path: path.slice(0, 200), message })
    if (this.#details.length === maxFaults) this.require()
  }

  /** Adds what a schema finds wrong with a record. */
  addIssues(place: string, issues: readonly BaseIssue<unknown>[]): void {
    for (const issue of issues)
      this.add([place, ...(issue.path ?? []).map(({ key }) => String(key))].filter(Boolean).join('.'), ruleOf(issue))
  }

  /** @throws Problem INVALID_IMPORT when there is a fault */
  require(): void {
    if (this.#details.length === 0) return
    const told = this.#details.map(({ path, message }) => `${path} ${message}`.trim()).join('; ')
    throw new Problem('INVALID_IMPORT', `Nothing was imported: ${told}`.slice(0, 4000), { details: this.#details })
  }
}

/** A file that cannot be imported for one reason. */
export const unimportable = (path: string, message: string): Problem =>
  new Problem('INVALID_IMPORT', `Nothing was imported: ${path} ${message}`.replace('  ', ' '), {
    details: [{ path, message }],
  })

function ruleOf({ kind, type, expected, message }: BaseIssue<unknown>): string {
  if (kind === 'schema' && type === 'strict_object')
    return expected === 'never' ? 'is not a known field' : expected === 'Object' ? 'must be an object' : 'is required'
  return message.startsWith('Invalid') ? `must be ${expected}` : message
}
