import type { LogLevel } from '../../src/contract/server/logs.ts'
import type { Out } from './output.ts'
import type { Color } from './terminal.ts'
import { escapeControls } from './text.ts'

/** The displayed fields of an entry in the server's log. */
export interface ShownEntry {
  at: string
  level: LogLevel
  source: string
  message: string
  requestId: string | null
  fields: Readonly<Record<string, unknown>>
}

const colors: Record<LogLevel, Color> = { info: 'cyan', warn: 'yellow', error: 'red' }

/** The fields that the message of a request already includes. */
const told = new Set(['method', 'route', 'status', 'code'])

/** An entry on a terminal: a line, and below it the stack of an error. */
export function drawLogEntry(
  out: Out,
  { at, level, source, message, requestId, fields: { cause, ...others } }: ShownEntry,
): string {
  const time = new Date(at)
  const date = time.toDateString() === new Date().toDateString() ? '' : `${at.slice(0, 10)} `
  const fields = Object.entries({ ...others, ...(requestId !== null && { requestId }) }).filter(
    ([name]) => source !== 'http' || !told.has(name),
  )
  const named = fields.map(
    ([name, value]) =>
      ` ${out.paint(`${escapeControls(name)}=`, 'dim')}${escapeControls(typeof value === 'string' ? value : JSON.stringify(value))}`,
  )
  const below =
    typeof cause === 'string' ? `${out.paint(escapeControls(cause, true).replace(/^/gm, '    '), 'dim')}\n` : ''
  return `${out.paint(`${date}${time.toTimeString().slice(0, 8)}`, 'dim')} ${out.paint(level.padEnd(5), colors[level])} ${out.paint(escapeControls(source), 'dim')} ${escapeControls(message)}${named.join('')}\n${below}`
}

/** Parses an entry of the server's log files: one line of JSON. Undefined if the line is not an entry. */
export function parseLogLine(line: string): ShownEntry | undefined {
  try {
    const { at, level, message, source = 'server', requestId = null, ...fields } = JSON.parse(line) as ShownEntry
    return { at, level, message, source, requestId, fields }
  } catch {
    return undefined
  }
}
