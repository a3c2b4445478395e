import { pino } from 'pino'
import type { Entry } from './entry.ts'
import { RotatingFile, type FileLimits } from './rotatingFile.ts'

/** The log as lines of JSON in files: `board.log`, and older ones as `board.1.log` and so on. */
export interface Files {
  add(entry: Entry): void
  figures(): { dropped: number }
  /** Writes the buffered entries before it returns. For a process that ends at once. */
  flushSync(): void
  /** Resolves once everything is written. */
  close(): Promise<void>
}

const fileLimits: FileLimits = { maxFiles: 5, maxBytesEach: 8 * 1024 * 1024, maxBuffered: 1024 * 1024 }

/**
 * Writes entries with pino to files of limited size. Warnings and errors are written at once, the rest a moment later.
 * @param tell logs errors of the files
 */
export function createFiles(folder: string, tell: (message: string) => void, limits: FileLimits = fileLimits): Files {
  const file = new RotatingFile(folder, 'board', limits, tell)
  const logger = pino(
    { base: undefined, timestamp: false, messageKey: 'message', formatters: { level: label => ({ level: label }) } },
    { write: line => file.write(line) },
  )
  return {
    add: ({ level, message, requestId, fields, at, source }) => {
      logger[level](requestId === null ? { at, source, ...fields } : { at, source, requestId, ...fields }, message)
      if (level !== 'info') file.flush()
    },
    figures: () => ({ dropped: file.dropped }),
    flushSync: () => file.flushSync(),
    close: () => file.close(),
  }
}
