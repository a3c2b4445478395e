import {
  isDamaged,
  openLogDatabase,
  setAsideLog,
  type LogDatabase,
  type LogFilter,
  type LogRow,
} from '../store/logs.ts'
import { ranks, type Entry } from './entry.ts'
import { levelWords } from './search.ts'

/** How many entries wait to be written at most, how many are kept after pruning, and how large the file gets. */
export interface HistoryLimits {
  maxQueued: number
  maxRows: number
  maxBytes: number
}
export const historyLimits: HistoryLimits = { maxQueued: 5000, maxRows: 200_000, maxBytes: 64 * 1024 * 1024 }

const flushAfterMs = 200
const againAfterMs = 5000
/** About a millisecond of work, after which others have their turn. */
const rowsAtOnce = 80
const prunedAtOnce = 250
/** So much of the file is written between two looks at how full it is. */
const lookAfter = 0.02
/** When so much of the file is in use, the oldest entries go until no more than that is, before anything is written. */
const [fullAt, roomyAt] = [0.8, 0.7]

/**
 * The log as it can be searched, in a database of its own, which is opened when something is first written. Whatever becomes of it,
 * nothing else stops: one that is damaged is set aside, and what cannot be kept is dropped and counted.
 */
export class History {
  dropped = 0
  readonly #path: string
  readonly #tell: (message: string) => void
  readonly #limits: HistoryLimits
  readonly #queue: Entry[] = []
  #database: LogDatabase | undefined
  #timer: NodeJS.Timeout | undefined
  #untold = 0
  #failedAtMs = -Infinity
  #hasFailed = false
  #bytesSinceLook = Infinity
  #isMakingRoom = false
  #isClosed = false

  /** @param tell says what befell the log itself */
  constructor(path: string, tell: (message: string) => void, limits: HistoryLimits = historyLimits) {
    this.#path = path
    this.#tell = tell
    this.#limits = limits
  }

  get queued(): number {
    return this.#queue.length
  }

  /** Takes an entry into a queue, from which it is written with others a little later. A full queue drops it. */
  add(entry: Entry): void {
    if (this.#queue.length >= this.#limits.maxQueued || this.#isClosed) return this.#drop(1)
    this.#queue.push(entry)
    this.#later(flushAfterMs)
  }

  /** What was written, and what is about to be. @throws the engine's error when the database cannot be read */
  list(filter: LogFilter): LogRow[] {
    for (let batches = 0; batches < 10 && this.#queue.length > 0 && !this.#isResting(); batches++) this.#write()
    try {
      return this.#use().list(filter)
    } catch (error) {
      this.#give(error)
      throw error
    }
  }

  /** Deletes what is older than `before` and what is too much, a little at a time. */
  async prune(signal: AbortSignal, before: string): Promise<void> {
    const limits = { before, maxRows: this.#limits.maxRows, maxPruned: prunedAtOnce }
    while (!signal.aborted && !this.#isClosed && this.#use().prune(limits) > 0) await new Promise(setImmediate)
  }

  /** Writes what is queued. */
  close(): void {
    clearTimeout(this.#timer)
    this.#isClosed = true
    for (let batches = this.#queue.length; batches > 0 && this.#queue.length > 0; batches--) this.#write()
    this.#letGo()
  }

  #later(ms: number): void {
    this.#timer ??= setTimeout(() => this.#flush(), this.#isResting() ? againAfterMs : ms).unref()
  }
  #isResting(): boolean {
    return performance.now() - this.#failedAtMs < againAfterMs
  }
  #use(): LogDatabase {
    return (this.#database ??= openLogDatabase(this.#path, this.#limits.maxBytes, reason =>
      this.#tell(`The log's database was damaged and is set aside: ${reason}`),
    ))
  }

  #flush(): void {
    this.#timer = undefined
    if (!this.#isResting()) this.#write()
    if (this.#queue.length > 0) this.#later(0)
  }

  /** Some of the queue goes into the database, or is dropped. */
  #write(): void {
    const entries = this.#queue.slice(0, rowsAtOnce)
    try {
      if (this.#makesRoom()) return
      const rows = entries.map(toRow)
      this.#use().insert(rows)
      this.#queue.splice(0, entries.length)
      for (const { message, fields, words } of rows)
        this.#bytesSinceLook += message.length + fields.length + words.length
      this.#hasFailed = false
      if (this.#untold > 0) this.#queue.push(dropNotice(this.#untold))
      this.#untold = 0
    } catch (error) {
      this.#queue.splice(0, entries.length)
      this.#drop(entries.length)
      this.#give(error)
    }
  }

  /** Deletes some of the oldest entries where the file is nearly full; true when that was enough for one turn. */
  #makesRoom(): boolean {
    if (!this.#isMakingRoom && this.#bytesSinceLook < this.#limits.maxBytes * lookAfter) return false
    this.#bytesSinceLook = 0
    this.#isMakingRoom = this.#use().usedBytes() > this.#limits.maxBytes * (this.#isMakingRoom ? roomyAt : fullAt)
    return this.#isMakingRoom && this.#use().prune({ before: '', maxRows: 0, maxPruned: prunedAtOnce }) > 0
  }

  #drop(count: number): void {
    this.dropped += count
    this.#untold += count
  }

  /** Does without a database that has failed; a damaged one makes place for a new one. */
  #give(error: unknown): void {
    this.#letGo()
    this.#bytesSinceLook = Infinity
    const { message } = error as Error
    if (isDamaged(error)) {
      this.#tell(`The log's database is damaged and is set aside: ${message}`)
      try {
        return setAsideLog(this.#path)
      } catch {
        /* Then it is tried again later. */
      }
    }
    if (!this.#hasFailed) this.#tell(`Entries of the log cannot be kept: ${message}`)
    this.#hasFailed = true
    this.#failedAtMs = performance.now()
  }

  #letGo(): void {
    try {
      this.#database?.close()
    } catch {
      /* It is not used any more. */
    }
    this.#database = undefined
  }
}

const toRow = ({ at, level, source, message, requestId, fields }: Entry) => {
  const text = JSON.stringify(fields)
  return {
    at,
    level: ranks[level],
    source,
    requestId,
    message,
    fields: text,
    words: `${message} ${source} ${requestId ?? ''} ${text} ${levelWords[level]}`,
  }
}

const dropNotice = (count: number): Entry => ({
  at: new Date().toISOString(),
  level: 'warn',
  source: 'logs',
  message: `${count} entries of the log could not be kept.`,
  requestId: null,
  fields: { count },
})
