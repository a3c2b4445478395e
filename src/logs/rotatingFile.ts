import { fchmodSync, fstatSync, openSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import { makePrivateFolder } from '../config/folders.ts'

/** How many files there are at most, how large each gets, and how much waits in memory for a disk that is slow. All in bytes. */
export interface FileLimits {
  maxFiles: number
  maxBytesEach: number
  maxBuffered: number
}

type Destination = ReturnType<typeof pino.destination>

const flushAfterMs = 200
const flushAtBytes = 32 * 1024
const againAfterMs = 5000

/**
 * Lines in files that together never take more than `maxFiles` times `maxBytesEach`: a line goes to the next file before it would
 * make one too large. A line by itself costs a write, so lines are gathered for a moment. What cannot be written is dropped and
 * counted; nobody ever waits. pino-roll and rotating-file-stream look at the size after writing, so that a burst grows a file without
 * bound, and rotating-file-stream cannot write what waits before a process ends at once.
 */
export class RotatingFile {
  dropped = 0
  readonly #folder: string
  readonly #name: string
  readonly #limits: FileLimits
  readonly #tell: (message: string) => void
  #destination: Destination | undefined
  #size = 0
  #lines: string[] = []
  #bytes = 0
  #timer: NodeJS.Timeout | undefined
  #isBroken = false
  #notBeforeMs = 0

  constructor(folder: string, name: string, limits: FileLimits, tell: (message: string) => void) {
    this.#folder = folder
    this.#name = name
    this.#limits = limits
    this.#tell = tell
    this.#open()
  }

  write(line: string): void {
    const bytes = Buffer.byteLength(line)
    const taken = this.#size + this.#bytes
    if (taken > 0 && taken + bytes > this.#limits.maxBytesEach) this.#rotate()
    this.#lines.push(line)
    this.#bytes += bytes
    if (this.#bytes >= flushAtBytes) this.flush()
    else this.#timer ??= setTimeout(() => this.flush(), flushAfterMs).unref()
  }

  /** Hands what was gathered to the operating system, without waiting for it. */
  flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#lines.length === 0) return
    if (!this.#destination && performance.now() > this.#notBeforeMs) this.#open()
    const [lines, bytes] = [this.#lines, this.#bytes]
    this.#lines = []
    this.#bytes = 0
    let isDropped = this.#destination === undefined
    const onDrop = () => {
      isDropped = true
    }
    this.#destination?.once('drop', onDrop).write(lines.join(''))
    this.#destination?.off('drop', onDrop)
    if (!isDropped) this.#size += bytes
    else {
      this.dropped += lines.length
      // After a failure what waits is tried again with the next line that it takes, and full as it is it takes none.
      this.#destination?.write('')
    }
  }

  flushSync(): void {
    this.flush()
    try {
      this.#destination?.flushSync()
    } catch {
      /* It cannot be written. */
    }
  }

  close(): Promise<void> {
    this.flush()
    const destination = this.#destination
    this.#destination = undefined
    this.#notBeforeMs = Infinity
    return new Promise(resolve => {
      if (!destination) return resolve()
      destination.once('close', resolve).once('error', () => resolve())
      destination.end()
    })
  }

  #open(): void {
    try {
      makePrivateFolder(this.#folder)
      const descriptor = openSync(this.#path(0), 'a', 0o600)
      fchmodSync(descriptor, 0o600)
      this.#size = fstatSync(descriptor).size
      this.#destination = pino.destination({ dest: descriptor, sync: false, maxLength: this.#limits.maxBuffered })
      this.#destination
        .on('write', () => {
          this.#isBroken = false
        })
        .on('error', error => this.#fail(error))
    } catch (error) {
      this.#fail(error as Error)
      this.#notBeforeMs = performance.now() + againAfterMs
    }
  }

  /** What the older file still has to write goes to it under its new name. */
  #rotate(): void {
    this.flush()
    this.#destination?.end()
    this.#destination = undefined
    try {
      rmSync(this.#path(this.#limits.maxFiles - 1), { force: true })
      for (let number = this.#limits.maxFiles - 2; number >= 0; number--)
        if (statSync(this.#path(number), { throwIfNoEntry: false }))
          renameSync(this.#path(number), this.#path(number + 1))
    } catch (error) {
      this.#fail(error as Error)
      rmSync(this.#path(0), { force: true })
    }
    this.#open()
  }

  #path(number: number): string {
    return join(this.#folder, number === 0 ? `${this.#name}.log` : `${this.#name}.${number}.log`)
  }

  #fail({ message }: Error): void {
    if (!this.#isBroken) this.#tell(`The log's file cannot be written: ${message}`)
    this.#isBroken = true
  }
}
