import { fchmodSync, fstatSync, openSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import { makePrivateFolder } from '../config/folders.ts'

/**
 * The maximum number of files, the maximum size of each, and the maximum size of lines that wait in memory for a slow disk. Sizes
 * are in bytes.
 */
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
 * Lines in files that together never exceed `maxFiles` times `maxBytesEach`: a line goes to the next file before it would exceed
 * the limit. A single line costs a write, so lines are buffered for a moment. Lines that cannot be written are dropped and
 * counted, and callers never wait. pino-roll and rotating-file-stream check the size after writing, so a burst can grow a file
 * without limit, and rotating-file-stream cannot write its buffer before a process ends at once.
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

  /** Passes the buffer to the operating system, without waiting for it. */
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
      // After a failure, the buffer is retried with the next line, but a full buffer accepts none.
      this.#destination?.write('')
    }
  }

  flushSync(): void {
    this.flush()
    try {
      this.#destination?.flushSync()
    } catch {
      /* The file cannot be written. */
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

  /** Renames the files by one number. Pending writes still go to the older file, under its new name. */
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
