import { isDamaged, openLogDatabase, setAsideLog, type LogDatabase, type LogFilter, type LogRow } from '../store/logs.ts'
import { ranks, type Entry } from './entry.ts'

/** The log as it can be searched. */
export interface History {
  /** Takes an entry into a queue, from which it is written with others a little later. A full queue drops it. */
  add(entry: Entry): void
  /** @throws the engine's error when the database cannot be read */
  list(filter: LogFilter): LogRow[]
  /** Deletes what is too old or too much, a little at a time. */
  prune(signal: AbortSignal, before: string): Promise<void>
  figures(): { queued: number; dropped: number }
  /** Writes what is queued. */
  close(): void
}

export interface HistoryLimits { mostQueued: number; mostRows: number; mostBytes: number }
export const historyLimits: HistoryLimits = { mostQueued: 5000, mostRows: 200_000, mostBytes: 64 * 1024 * 1024 }

const flushAfterMs = 200
const againAfterMs = 5000
/** About a millisecond of work, after which others have their turn. */
const rowsAtOnce = 80
const prunedAtOnce = 250
const rowsBetweenLooks = 400
/** Between these parts of the file that may be in use, the oldest entries make room before anything is written. */
const [fullAt, roomyAt] = [0.8, 0.7]

/**
 * Keeps entries in a database of their own, which is opened when the first are written. Whatever becomes of it, nothing else stops: one
 * that is damaged is set aside, and what cannot be kept is dropped and counted.
 * @param tell says what befell the log itself
 */
export function createHistory(path: string, tell: (message: string) => void, limits: HistoryLimits = historyLimits): History {
  const queue: Entry[] = []
  const state = { database: undefined as LogDatabase | undefined, timer: undefined as NodeJS.Timeout | undefined, notBefore: 0, dropped: 0, untold: 0, sinceLook: Infinity, isMakingRoom: false }
  const use = () => state.database ??= openLogDatabase(path, limits.mostBytes, reason => tell(`The log's database was damaged and is set aside as ${path}.damaged: ${reason}`))
  const drop = (count: number) => {
    state.dropped += count
    state.untold += count
  }

  const write = () => {
    const entries = queue.slice(0, rowsAtOnce)
    try {
      if (makesRoom(use(), limits, state)) return
      use().insert(entries.map(toRow))
      queue.splice(0, entries.length)
      state.sinceLook += entries.length
      state.notBefore = 0
      if (state.untold > 0) {
        queue.push(dropNotice(state.untold))
        state.untold = 0
      }
    } catch (error) {
      queue.splice(0, entries.length)
      drop(entries.length)
      give(error)
    }
  }
  /** Lets go of a database that has failed. */
  const give = (error: unknown) => {
    try { state.database?.close() } catch { /* It is not used any more. */ }
    state.database = undefined
    if (isDamaged(error)) {
      setAsideLog(path)
      return tell(`The log's database is damaged and set aside as ${path}.damaged: ${(error as Error).message}`)
    }
    if (state.notBefore === 0) tell(`Entries of the log cannot be kept: ${(error as Error).message}`)
    state.notBefore = performance.now() + againAfterMs
    state.sinceLook = Infinity
  }
  const flush = () => {
    state.timer = undefined
    if (state.notBefore > performance.now()) return later()
    write()
    if (queue.length > 0) later(0)
  }
  const later = (ms = state.notBefore > performance.now() ? againAfterMs : flushAfterMs) => { state.timer ??= setTimeout(flush, ms).unref() }

  return {
    add: entry => {
      if (queue.length >= limits.mostQueued) return drop(1)
      queue.push(entry)
      if (!state.timer) later()
    },
    list: filter => {
      for (let written = 0; queue.length > 0 && written < 10; written++) write()
      try {
        return use().list(filter)
      } catch (error) {
        give(error)
        throw error
      }
    },
    prune: async (signal, before) => {
      while (!signal.aborted && queue.length + use().prune({ before, mostRows: limits.mostRows, most: prunedAtOnce }) > queue.length) await new Promise(setImmediate)
    },
    figures: () => ({ queued: queue.length, dropped: state.dropped }),
    close: () => {
      clearTimeout(state.timer)
      for (let most = queue.length; queue.length > 0 && most >= 0; most--) write()
      try { state.database?.close() } catch { /* It is damaged. */ }
    },
  }
}

/** Deletes some of the oldest entries where the file is nearly full; true when that was all there is time for. */
function makesRoom(database: LogDatabase, { mostBytes }: HistoryLimits, state: { sinceLook: number; isMakingRoom: boolean }): boolean {
  if (!state.isMakingRoom && state.sinceLook < rowsBetweenLooks) return false
  state.sinceLook = 0
  state.isMakingRoom = database.usedBytes() > mostBytes * (state.isMakingRoom ? roomyAt : fullAt)
  return state.isMakingRoom && database.prune({ before: '', mostRows: 0, most: prunedAtOnce }) > 0
}

const toRow = ({ at, level, source, message, requestId, fields }: Entry) => {
  const text = JSON.stringify(fields)
  return { at, level: ranks[level], source, requestId, message, fields: text, words: `${message} ${source} ${requestId ?? ''} ${text}` }
}

const dropNotice = (count: number): Entry => ({ at: new Date().toISOString(), level: 'warn', source: 'logs', message: `${count} entries of the log could not be kept.`, requestId: null, fields: { count } })
