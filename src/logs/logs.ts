import { join } from 'node:path'
import type { Log } from '../config/log.ts'
import type { ServerConfig } from '../config/server.ts'
import type { LogLevel } from '../contract/logs.ts'
import { toEntry, ranks, type Entry } from './entry.ts'
import { createExporter, type Exporter } from './exporter.ts'
import { createFiles } from './files.ts'
import { createHistory } from './history.ts'
import { toMatch } from './search.ts'

/** An entry as it can be read again. */
export interface KeptEntry extends Entry { id: number }
export interface LogQuery { level?: LogLevel; search?: string; since?: string; after?: number; before?: number; limit: number }

/** Where the log goes: to stderr, to files, to a database that can be searched, and to a receiver elsewhere if one is set. */
export interface Logs {
  log: Log
  /** For what happens all the time, like reading: it goes to files and stderr, but is not worth a place in the database. */
  routine: Log
  /** The newest first; with `after` an id, what is newer, the oldest first. */
  list(query: LogQuery): KeptEntry[]
  exporter: Exporter
  /** An entry that is sent to try a receiver. */
  testEntry(): Entry
  /** Deletes what is older than `before` and what is too much. */
  prune(signal: AbortSignal, before: string): Promise<void>
  /** What is queued and what was dropped so far, by where it should have gone. */
  figures(): { files: { dropped: number }; database: { queued: number; dropped: number }; export: { queued: number; dropped: number; sent: number } }
  /** Writes what is buffered before it returns. For when the process ends at once. */
  flushSync(): void
  close(): Promise<void>
}

const levels: readonly LogLevel[] = ['info', 'warn', 'error']

/**
 * Opens the log of a data folder.
 * @param terminal where it goes beside: stderr, by the level that was asked for
 */
export function openLogs({ dataDir, clock }: Pick<ServerConfig, 'dataDir' | 'clock'>, terminal: Log): Logs {
  /** What befalls one part of the log is told by the others. */
  const tell = (message: string) => terminal('warn', message, { source: 'logs' })
  const files = createFiles(join(dataDir, 'logs'), tell)
  const history = createHistory(join(dataDir, 'logs.db'), tell)
  const exporter = createExporter((level, message, fields) => note(toEntry(level, message, { source: 'log-export', ...fields }), true, false))
  const note = (entry: Entry, isKept: boolean, isExported: boolean) => {
    files.add(entry)
    if (isKept) history.add(entry)
    if (isExported) exporter.add(entry)
    terminal(entry.level, entry.message, { source: entry.source, ...(entry.requestId !== null && { requestId: entry.requestId }), ...entry.fields })
  }
  return {
    log: (level, message, fields) => note(toEntry(level, message, fields, clock().toISOString()), true, true),
    routine: (level, message, fields) => note(toEntry(level, message, fields, clock().toISOString()), false, true),
    list: query => list(history, query),
    exporter,
    testEntry: () => toEntry('info', 'This entry tries the log export.', { source: 'log-export' }, clock().toISOString()),
    prune: (signal, before) => history.prune(signal, before),
    figures: () => ({ files: files.figures(), database: history.figures(), export: exporter.figures() }),
    flushSync: () => files.flushSync(),
    close: async () => {
      await exporter.close()
      history.close()
      await files.close()
    },
  }
}

function list(history: ReturnType<typeof createHistory>, { level = 'info', search, ...query }: LogQuery): KeptEntry[] {
  const match = search === undefined ? undefined : toMatch(search)
  if (search !== undefined && match === undefined) return []
  return history.list({ ...query, level: ranks[level], search: match }).map(row => ({ ...row, level: levels[row.level]!, fields: JSON.parse(row.fields) as Record<string, unknown> }))
}
