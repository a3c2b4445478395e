import type { Log } from '../../src/config/log.ts'
import type { LogLevel } from '../../src/contract/server/logs.ts'

export type { Log } from '../../src/config/log.ts'

const rank: Record<LogLevel, number> = { error: 0, warn: 1, info: 2 }
const colors: Record<LogLevel, string> = { error: '31', warn: '33', info: '36' }

/** The fields that the message of a request already includes. */
const inMessage = new Set(['method', 'route', 'status', 'code'])

/** The format of the log on stderr: one JSON object per line, or text for people. */
export type LogFormat = 'json' | 'pretty'

/** The maximum number of unread bytes. Beyond that, messages are dropped. */
const maxBufferedBytes = 1024 * 1024

/**
 * Writes one line to stderr for each message at or above the level. The field `at` is the time of the event, if it was not
 * now. Messages that the reader of stderr does not accept in time are dropped and counted, so that the server never waits.
 */
export function createStderrLog(minLevel: LogLevel, format: LogFormat = 'json', hasColor = false): Log {
  let dropped = 0
  const log: Log = (level, message, { at = new Date().toISOString(), ...fields } = {}) => {
    if (rank[level] > rank[minLevel]) return
    if (process.stderr.writableLength > maxBufferedBytes) return void dropped++
    const count = dropped
    dropped = 0
    if (count > 0) log('error', `${count} entries of the log could not be shown here.`, { source: 'logs', count })
    process.stderr.write(
      format === 'json'
        ? `${JSON.stringify({ at, level, message, ...fields })}\n`
        : formatPretty(String(at), level, message, fields, hasColor),
    )
  }
  return log
}

function formatPretty(
  at: string,
  level: LogLevel,
  message: string,
  { source, ...fields }: Readonly<Record<string, unknown>>,
  hasColor: boolean,
): string {
  const paint = (text: string, code: string) => (hasColor ? `\u001b[${code}m${text}\u001b[0m` : text)
  const { cause, ...others } = fields
  const rest = Object.entries(others)
    .filter(([name]) => source !== 'http' || !inMessage.has(name))
    .map(
      ([name, value]) =>
        ` ${paint(`${name}=`, '2')}${escapeControls(typeof value === 'string' ? value : JSON.stringify(value))}`,
    )
    .join('')
  const below =
    cause === undefined
      ? ''
      : `\n${String(cause)
          .split('\n')
          .map(line => `    ${escapeControls(line)}`)
          .join('\n')}`
  return `${paint(new Date(at).toTimeString().slice(0, 8), '2')} ${paint(level.padEnd(5), colors[level])} ${paint(escapeControls(String(source ?? 'server')), '2')} ${escapeControls(message)}${rest}${paint(below, '2')}\n`
}

/** Escapes control characters, so that log messages cannot control the terminal. */
const escapeControls = (text: string) =>
  text.replace(/[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, '\ufffd')
