import type { LogLevel } from '../contract/server/logs.ts'
import { redact } from './redact.ts'

/** An event, without secrets and limited in size. */
export interface Entry {
  at: string
  level: LogLevel
  source: string
  message: string
  requestId: string | null
  fields: Record<string, unknown>
}

/** Converts a log call of a part of the server to an entry. */
export function toEntry(
  level: LogLevel,
  message: string,
  given: Readonly<Record<string, unknown>> = {},
  at = new Date().toISOString(),
): Entry {
  const { source, requestId, ...fields } = given
  return {
    at,
    level,
    source: typeof source === 'string' ? source : 'server',
    message: redact.text(message, 2000),
    requestId: typeof requestId === 'string' ? requestId : null,
    fields: redact.fields(fields),
  }
}

export const levels: readonly LogLevel[] = ['info', 'warn', 'error']
export const ranks: Record<LogLevel, number> = { info: 0, warn: 1, error: 2 }
