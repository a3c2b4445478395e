import type { ImportErrors } from './importErrors.ts'

/** The state of an import file's check: IDs, records by ID, and taken positions. */
export class RecordIndex {
  readonly #errors: ImportErrors
  readonly #parts = new Map<string, Map<number, unknown>>()
  readonly #taken = new Map<string, Set<number>>()
  readonly #counts = new Map<string, number>()
  readonly maxAttachmentBytes: number
  readonly warnings: string[] = []
  /** The path of the record that is being checked, like `cards.12`; at the end of a part, the part's name. */
  place = ''
  /** The attachment that the latest piece of content belongs to. */
  latest = 0

  constructor(errors: ImportErrors, { maxAttachmentBytes }: { maxAttachmentBytes: number }) {
    this.#errors = errors
    this.maxAttachmentBytes = maxAttachmentBytes
  }

  /** Reports a field of the record that is being checked, or with an empty name the whole record. */
  addError(field: string, rule: string): void {
    this.#errors.add(field === '' ? this.place : `${this.place}.${field}`, rule)
  }
  addErrorAt(place: string, rule: string): void {
    this.#errors.add(place, rule)
  }

  /** Adds a record; an ID that its part already has is an error. */
  add<T>(part: string, id: number, record: T): void {
    const known = this.all<T>(part)
    if (known.has(id)) this.addError('id', 'occurs more than once')
    known.set(id, record)
  }

  /** The record that a field refers to; a missing one is an error. */
  find<T>(part: string, id: number, field: string): T | undefined {
    const known = this.all<T>(part)
    if (!known.has(id)) this.addError(field, `must be the ID of a record in ${part}`)
    return known.get(id)
  }

  /** Allows references to an invalid record, so that it is reported once and not for each reference. */
  tolerate(part: string, record: unknown): void {
    const id = (record as { id?: unknown } | null)?.id
    if (typeof id === 'number' && !this.all(part).has(id)) this.all(part).set(id, undefined)
  }

  all<T>(part: string): Map<number, T> {
    const known = this.#parts.get(part) ?? new Map<number, unknown>()
    this.#parts.set(part, known)
    return known as Map<number, T>
  }

  /** Counts one more of `what` and returns the new count. */
  count(what: string): number {
    const count = (this.#counts.get(what) ?? 0) + 1
    this.#counts.set(what, count)
    return count
  }

  /** Takes a position of a list, which is named by its owner ("column 3"). A taken position is an error. */
  takePosition(list: string, position: number, field = 'position'): void {
    const taken = this.#taken.get(list) ?? new Set()
    this.#taken.set(list, taken)
    if (taken.has(position)) this.addError(field, `is already used in ${list}`)
    taken.add(position)
  }

  /** Reports every list whose positions do not run from 0 without a hole. */
  requireDense(): void {
    for (const [list, taken] of this.#taken) {
      let first = 0
      while (taken.has(first)) first++
      if (first < taken.size) this.addError('', `must not leave a gap in ${list}: position ${first} is missing`)
    }
    this.#taken.clear()
  }
}
