import { fstatSync, ftruncateSync, statSync } from 'node:fs'
import type { Log } from './stderrLog.ts'

const stderr = 2
const maxBytes = 4 * 1024 * 1024
/** The size of the first lines, which show the startup and sometimes contain a setup code. */
const firstBytes = 16 * 1024

/**
 * A log on stderr whose size is limited in the background: if stderr is the file that `board server start` opened, the content after the
 * first 16 KiB is cut off when the file exceeds 4 MiB. The log files contain the same lines.
 * @param file the file that `board server start` opens for the output of a server
 */
export function boundedStderr(log: Log, file: string): Log {
  if (!isStderr(file)) return log
  return (level, message, fields) => {
    log(level, message, fields)
    if (fstatSync(stderr).size > maxBytes) truncate()
  }
}

/** Returns whether stderr is this file. If another program created the file, that program limits it. */
function isStderr(file: string): boolean {
  const own = fstatSync(stderr)
  if (!own.isFile()) return false
  try {
    const named = statSync(file)
    return own.dev === named.dev && own.ino === named.ino
  } catch {
    return false
  }
}

function truncate(): void {
  try {
    ftruncateSync(stderr, firstBytes)
    process.stderr.write('\nEarlier output was truncated. The log is in the files next to this one.\n')
  } catch {
    /* The platform cannot truncate a file that is open for appending. */
  }
}
