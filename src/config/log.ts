import { Problem, type ErrorCode } from '../contract/errors.ts'
import type { LogLevel } from '../contract/server/logs.ts'

/**
 * Records an event on the server. Callers must not pass secrets: no bodies, no headers, no query strings. The fields `source`
 * (the part of the server that writes the entry) and `requestId` have separate places in an entry.
 */
export type Log = (level: LogLevel, message: string, fields?: Readonly<Record<string, unknown>>) => void

/** The log of one part of the server. */
export const logFor =
  (log: Log, source: string): Log =>
  (level, message, fields) =>
    log(level, message, { source, ...fields })

/** An error as a field of an entry: its stack, and those of its causes. */
export function causeOf(error: unknown): string {
  const stacks: string[] = []
  for (
    let each = error;
    each !== undefined && each !== null && stacks.length < 5;
    each = (each as { cause?: unknown }).cause
  )
    stacks.push(each instanceof Error ? (each.stack ?? String(each)) : String(each))
  return stacks.join('\ncaused by: ')
}

/** The text of an expected error without a stack: the message, and its cause. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { cause } = error
  return cause instanceof Error && cause.message !== error.message
    ? `${error.message} (${cause.message})`
    : error.message
}

/** Errors that occur occasionally although the server is fine. */
const passing: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'PROVIDER_UNAVAILABLE',
  'AGENT_UNAVAILABLE',
  'DATABASE_BUSY',
  'SHUTTING_DOWN',
])
/** The severity of the failure for the operator of the server. */
export const failureLevel = (error: unknown): LogLevel =>
  error instanceof Problem && passing.has(error.code) ? 'warn' : 'error'

/** Logs a failure with its reason. A temporary one is only a warning. */
export const logFailure = (
  log: Log,
  message: string,
  error: unknown,
  fields?: Readonly<Record<string, unknown>>,
): void => {
  // The daemon's membership logs this once for all its effects.
  if (isOutOfReach(error)) return
  const level = failureLevel(error)
  log(level, message, { ...fields, cause: level === 'warn' ? reasonOf(error) : causeOf(error) })
}

/** Whether the database server does not respond. */
const isOutOfReach = (error: unknown): boolean =>
  error instanceof Problem && error.code === 'DATABASE_BUSY' && error.message.startsWith('The database server ')
