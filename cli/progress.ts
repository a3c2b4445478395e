import { harmless } from './text.ts'

const quietMs = 500
const betweenMs = 100

/** A line on stderr that says how far something is. It appears after half a second and is wiped at the end. */
export class Progress {
  readonly #label: string
  readonly #total: number | undefined
  readonly #wanted: boolean
  readonly #talk: (text: string) => void
  readonly #startedAtMs = performance.now()
  #drawnAtMs = 0
  #count = 0

  constructor(label: string, total: number | undefined, wanted: boolean, talk: (text: string) => void) {
    this.#label = harmless(label)
    this.#total = total
    this.#wanted = wanted
    this.#talk = talk
  }

  /** Goes on by `by`, or to the absolute count `to`. */
  step(by = 1): void { this.to(this.#count + by) }

  to(count: number): void {
    this.#count = count
    const nowMs = performance.now()
    if (!this.#wanted || nowMs - this.#startedAtMs < quietMs || nowMs - this.#drawnAtMs < betweenMs) return
    this.#drawnAtMs = nowMs
    this.#talk(`\r\u001b[K${this.#label} ${this.#text()}`)
  }

  /** Wipes the line. */
  done(): void {
    if (this.#drawnAtMs > 0) this.#talk('\r\u001b[K')
    this.#drawnAtMs = 0
  }

  #text(): string {
    if (!this.#total) return `${this.#count}`
    const part = Math.min(1, this.#count / this.#total)
    const full = Math.round(part * 20)
    return `[${'#'.repeat(full)}${'.'.repeat(20 - full)}] ${Math.floor(part * 100)}%`
  }
}
