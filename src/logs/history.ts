import {
  isDamaged,
  openLogDatabase,
  setAsideLog,
  type LogDatabase,
  type LogFilter,
  type LogRow,
} from '../store/server/logs.ts'
import { ranks, type Entry } from './entry.ts'
import { levelWords } from './search.ts'

/** The maximum number of waiting entries, the number of entries after pruning, and the maximum size of the file. */
export interface HistoryLimits {
  maxQueued: number
  maxRows: number
  maxBytes: number
}
export const historyLimits: HistoryLimits = { maxQueued: 5000, maxRows: 200_000, maxBytes: 64 * 1024 * 1024 }

const flushAfterMs = 200
const againAfterMs = 5000
/** The number of rows per step. A step takes about a millisecond, and other work runs between the steps. */
const rowsAtOnce = 80
const prunedAtOnce = 250
/** The fraction of the file that is written between two checks of its fill level. */
const lookAfter = 0.02
/**
 * When this fraction of the file is in use, the oldest entries are deleted down to the second fraction before anything is
 * written.
 */
const [fullAt, roomyAt] = [0.8, 0.7]

/**
 * The searchable log, in a separate database that is opened on the first write. Its failures stop nothing else: a damaged
 * database is set aside, and entries that cannot be stored are dropped and counted.
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

  /** @param tell logs errors of the log itself */
  constructor(path: string, tell: (message: string) => void, limits: HistoryLimits = historyLimits) {
    this.#path = path
    this.#tell = tell
    this.#limits = limits
  }

  get queued(): number {
    return this.#queue.length
  }

  /** Adds an entry to a queue, which is written in batches a little later. A full queue drops it. */
  add(entry: Entry): void {
    if (this.#queue.length >= this.#limits.maxQueued || this.#isClosed) return this.#drop(1)
    this.#queue.push(entry)
    this.#later(flushAfterMs)
  }

  /** Lists the written entries and the pending ones. @throws the engine's error if the database cannot be read */
  list(filter: LogFilter): LogRow[] {
    for (let batches = 0; batches < 10 && this.#queue.length > 0 && !this.#isResting(); batches++) this.#write()
    try {
      return this.#use().list(filter)
    } catch (error) {
      this.#giveUp(error)
      throw error
    }
  }

  /** Deletes entries that are older than `before` or beyond the limit, a few at a time. */
  async prune(signal: AbortSignal, before: string): Promise<void> {
    const limits = { before, maxRows: this.#limits.maxRows, maxPruned: prunedAtOnce }
    while (!signal.aborted && !this.#isClosed && this.#use().prune(limits) > 0) await new Promise(setImmediate)
  }

  /** Writes the queued entries. */
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

  /** Writes some of the queue to the database, or drops it. */
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
      this.#giveUp(error)
    }
  }

  /** Deletes some of the oldest entries if the file is nearly full. Returns true if that was enough work for one turn. */
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

  /** Stops using a failed database. A damaged one is replaced with a new one. */
  #giveUp(error: unknown): void {
    this.#letGo()
    this.#bytesSinceLook = Infinity
    const { message } = error as Error
    if (isDamaged(error)) {
      this.#tell(`The log's database is damaged and is set aside: ${message}`)
      try {
        return setAsideLog(this.#path)
      } catch {
        /* A later attempt sets the database aside. */
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
      /* The database is no longer used. */
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
  message: `${count} entries of the log could not be stored.`,
  requestId: null,
  fields: { count },
})
