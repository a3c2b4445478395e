import type { Faults } from './faults.ts'

/** What a check knows of the records so far: their ids, what each says of itself, and which places are taken. */
export class RecordIndex {
  readonly #faults: Faults
  readonly #parts = new Map<string, Map<number, unknown>>()
  readonly #taken = new Map<string, Set<number>>()
  readonly #counts = new Map<string, number>()
  readonly maxAttachmentBytes: number
  readonly warnings: string[] = []
  /** Where the record stands that is being checked, like `cards.12`; at the end of a part, the part. */
  place = ''
  /** The attachment whose bytes came last. */
  latest = 0

  constructor(faults: Faults, { maxAttachmentBytes }: { maxAttachmentBytes: number }) {
    this.#faults = faults
    this.maxAttachmentBytes = maxAttachmentBytes
  }

  /** Faults a field of the record that is being checked, or all of it. */
  fault(field: string, rule: string): void {
    this.#faults.add(field === '' ? this.place : `${this.place}.${field}`, rule)
  }
  faultAt(place: string, rule: string): void {
    this.#faults.add(place, rule)
  }

  /** Takes note of a record; its id must be new in its part. */
  add<T>(part: string, id: number, record: T): void {
    const known = this.all<T>(part)
    if (known.has(id)) this.fault('id', 'stands there more than once')
    known.set(id, record)
  }

  /** The record that a field names; one that is not there is a fault. */
  find<T>(part: string, id: number, field: string): T | undefined {
    const known = this.all<T>(part)
    if (!known.has(id)) this.fault(field, `names nothing in ${part}`)
    return known.get(id)
  }

  /** Lets others name a record that is wrong: that is one fault, not many. */
  tolerate(part: string, record: unknown): void {
    const id = (record as { id?: unknown } | null)?.id
    if (typeof id === 'number' && !this.all(part).has(id)) this.all(part).set(id, undefined)
  }

  all<T>(part: string): Map<number, T> {
    const known = this.#parts.get(part) ?? new Map<number, unknown>()
    this.#parts.set(part, known)
    return known as Map<number, T>
  }

  /** Counts one more of something, and tells how many there are now. */
  count(what: string): number {
    const count = (this.#counts.get(what) ?? 0) + 1
    this.#counts.set(what, count)
    return count
  }

  /** Takes a place of a list, which is named by what it is a list of ("column 3"). */
  take(list: string, position: number, field = 'position'): void {
    const taken = this.#taken.get(list) ?? new Set()
    this.#taken.set(list, taken)
    if (taken.has(position)) this.fault(field, `is taken already in ${list}`)
    taken.add(position)
  }

  /** Faults every list whose places do not run from 0 without holes. */
  requireDense(): void {
    for (const [list, taken] of this.#taken) {
      let first = 0
      while (taken.has(first)) first++
      if (first < taken.size) this.fault('', `must leave no hole in ${list}: nothing has the position ${first}`)
    }
    this.#taken.clear()
  }
}
