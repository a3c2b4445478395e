import type { BaseIssue } from 'valibot'
import { Problem, type Detail } from '../contract/errors.ts'
import { issueText } from '../contract/forges/issueText.ts'

const maxErrors = 20

/** The errors of an import file, by path. The check stops at the 20th error. */
export class ImportErrors {
  readonly #details: Detail[] = []

  /** @throws Problem INVALID_IMPORT with all errors once there are 20 */
  add(path: string, message: string): void {
    this.#details.push({ path: path.slice(0, 200), message })
    if (this.#details.length === maxErrors) this.throwIfAny()
  }

  /** Adds the errors of a record's schema. */
  addIssues(place: string, issues: readonly BaseIssue<unknown>[]): void {
    for (const issue of issues)
      this.add([place, ...(issue.path ?? []).map(({ key }) => String(key))].filter(Boolean).join('.'), issueText(issue))
  }

  /** @throws Problem INVALID_IMPORT if there is an error */
  throwIfAny(): void {
    if (this.#details.length === 0) return
    const reasons = this.#details.map(({ path, message }) => `${path} ${message}`.trim()).join('; ')
    throw new Problem('INVALID_IMPORT', `Nothing was imported: ${reasons}`.slice(0, 4000), { details: this.#details })
  }
}

/** The Problem for a file with a single error that prevents its import. */
export const importError = (path: string, message: string): Problem =>
  new Problem('INVALID_IMPORT', `Nothing was imported: ${path} ${message}`.replace('  ', ' '), {
    details: [{ path, message }],
  })
