import { escapeControls } from './text.ts'

const quietMs = 500
const betweenMs = 100
/** Node loads `performance` on first use, which takes a millisecond. */
const nowMs = () => process.uptime() * 1000

/** A progress line on stderr. It appears after half a second and is cleared at the end. */
export class Progress {
  readonly #label: string
  readonly #total: number | undefined
  readonly #wanted: boolean
  readonly #writeStderr: (text: string) => void
  readonly #startedAtMs = nowMs()
  #drawnAtMs = 0
  #count = 0

  constructor(label: string, total: number | undefined, wanted: boolean, writeStderr: (text: string) => void) {
    this.#label = escapeControls(label)
    this.#total = total
    this.#wanted = wanted
    this.#writeStderr = writeStderr
  }

  /** Advances by one. */
  step(): void {
    this.to(this.#count + 1)
  }

  /** Advances to a count. */
  to(count: number): void {
    this.#count = count
    const atMs = nowMs()
    if (!this.#wanted || atMs - this.#startedAtMs < quietMs || atMs - this.#drawnAtMs < betweenMs) return
    this.#drawnAtMs = atMs
    this.#writeStderr(`\r\u001b[K${this.#label} ${this.#text()}`)
  }

  /** Shows a status text instead of a count. */
  showText(text: string): void {
    if (!this.#wanted || nowMs() - this.#startedAtMs < quietMs) return
    this.#drawnAtMs = nowMs()
    this.#writeStderr(`\r\u001b[K${this.#label}: ${text}`)
  }

  /** Clears the line. */
  done(): void {
    if (this.#drawnAtMs > 0) this.#writeStderr('\r\u001b[K')
    this.#drawnAtMs = 0
  }

  #text(): string {
    if (!this.#total) return `${this.#count}`
    const part = Math.min(1, this.#count / this.#total)
    const full = Math.round(part * 20)
    return `[${'#'.repeat(full)}${'.'.repeat(20 - full)}] ${Math.floor(part * 100)}%`
  }
}
