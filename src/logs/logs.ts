import { join } from 'node:path'
import type { Log } from '../config/log.ts'
import type { ServerConfig } from '../config/server.ts'
import type { LogLevel } from '../contract/server/logs.ts'
import { levels, ranks, toEntry, type Entry } from './entry.ts'
import { createExporter, type Exporter } from './exporter.ts'
import { createFiles } from './files.ts'
import { History } from './history.ts'
import { toMatch } from './search.ts'

/** A stored entry. */
interface KeptEntry extends Entry {
  id: number
}
interface LogQuery {
  level?: LogLevel
  search?: string
  since?: string
  after?: number
  before?: number
  limit: number
}

/** The log's outputs: stderr, files, a searchable database, and a remote receiver if one is set. */
export interface Logs {
  log: Log
  /** Like `log`, deferred and batched at a quarter of the cost: for entries of every request. */
  soon: Log
  /** Like `soon`, but not stored in the database: for successful reads. */
  routine: Log
  /** Like `log`, but not on stderr: for events that are printed there in another form. */
  aside: Log
  /** Lists the newest entries first. If `after` is an ID, lists newer entries, the oldest first. */
  list(query: LogQuery): KeptEntry[]
  exporter: Exporter
  /** Deletes entries older than `before` and beyond the limit. */
  prune(signal: AbortSignal, before: string): Promise<void>
  /** The numbers of queued and dropped entries, by output. */
  figures(): {
    files: { dropped: number }
    database: { queued: number; dropped: number }
    export: { queued: number; dropped: number; sent: number }
  }
  /** Writes the buffered entries before it returns. For a process that ends at once. */
  flushSync(): void
  close(): Promise<void>
}

/**
 * Opens the log of a data folder.
 * @param terminal the additional output: stderr, by the configured level
 */
export function openLogs(
  { dataDir, clock, logLevel }: Pick<ServerConfig, 'dataDir' | 'clock' | 'logLevel'>,
  terminal: Log,
): Logs {
  /** Failures of one output are logged only to stderr, which does not depend on the other outputs. */
  const warnOnTerminal = (message: string) => terminal('warn', message, { source: 'logs' })
  const files = createFiles(join(dataDir, 'logs'), warnOnTerminal)
  const history = new History(join(dataDir, 'logs.db'), warnOnTerminal)
  const exporter = createExporter((level, message, fields) =>
    addEntry(toEntry(level, message, { source: 'log-export', ...fields }), { isExported: false }),
  )
  const addEntry = (entry: Entry, { isKept = true, isExported = true, isShown = true } = {}) => {
    files.add(entry)
    if (isKept) history.add(entry)
    if (isExported) exporter.add(entry)
    if (isShown && ranks[entry.level] >= ranks[logLevel]) terminal(entry.level, entry.message, plain(entry))
  }
  const deferred = createDeferred(({ level, message, fields, at, isKept }) =>
    addEntry(toEntry(level, message, fields, toIso(at)), { isKept }),
  )
  return {
    log: (level, message, fields) => {
      deferred.flush()
      addEntry(toEntry(level, message, fields, clock().toISOString()))
    },
    aside: (level, message, fields) =>
      addEntry(toEntry(level, message, fields, clock().toISOString()), { isShown: false }),
    soon: (level, message, fields) => deferred.add({ level, message, fields, at: clock().getTime(), isKept: true }),
    routine: (level, message, fields) => deferred.add({ level, message, fields, at: clock().getTime(), isKept: false }),
    list: query => {
      deferred.flush()
      return list(history, query)
    },
    exporter,
    prune: (signal, before) => history.prune(signal, before),
    figures: () => ({
      files: files.figures(),
      database: { queued: history.queued, dropped: history.dropped },
      export: exporter.figures(),
    }),
    flushSync: () => {
      deferred.flush()
      files.flushSync()
    },
    close: async () => {
      deferred.flush()
      await exporter.close()
      history.close()
      await files.close()
    },
  }
}

const plain = ({ at, source, requestId, fields }: Entry) => ({
  at,
  source,
  ...(requestId !== null && { requestId }),
  ...fields,
})

const last = { at: 0, iso: '' }
/** Cached, because many events occur within a millisecond. */
function toIso(at: number): string {
  if (at !== last.at) Object.assign(last, { at, iso: new Date(at).toISOString() })
  return last.iso
}

interface Raw {
  level: LogLevel
  message: string
  fields: Parameters<Log>[2]
  at: number
  isKept: boolean
}
const maxDeferred = 200
const deferMs = 100

/** Batches entries: due to warm caches, a batched entry costs a quarter of a single one. */
function createDeferred(take: (raw: Raw) => void): { add(raw: Raw): void; flush(): void } {
  const waiting: Raw[] = []
  let timer: NodeJS.Timeout | undefined
  const flush = () => {
    clearTimeout(timer)
    timer = undefined
    for (const raw of waiting.splice(0)) take(raw)
  }
  return {
    add: raw => {
      if (waiting.push(raw) >= maxDeferred) flush()
      else timer ??= setTimeout(flush, deferMs).unref()
    },
    flush,
  }
}

function list(history: History, { level = 'info', search, ...query }: LogQuery): KeptEntry[] {
  const match = search === undefined ? undefined : toMatch(search, level)
  if (search !== undefined && match === undefined) return []
  return history
    .list({ ...query, level: ranks[level], search: match })
    .map(row => ({ ...row, level: levels[row.level]!, fields: JSON.parse(row.fields) as Record<string, unknown> }))
}
