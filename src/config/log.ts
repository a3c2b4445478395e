import { Problem, type ErrorCode } from '../contract/errors.ts'
import type { LogLevel } from '../contract/logs.ts'

/**
 * Notes what happens on the server. Callers pass no secrets: no bodies, no headers, no query strings. The fields `source` (the part of
 * the server that says it) and `requestId` have places of their own in an entry.
 */
export type Log = (level: LogLevel, message: string, fields?: Readonly<Record<string, unknown>>) => void

/** The log of one part of the server. */
export const from =
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

/** What was expected to go wrong now and then needs no stack: what happened, and what of. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { cause } = error
  return cause instanceof Error && cause.message !== error.message
    ? `${error.message} (${cause.message})`
    : error.message
}

/** What goes wrong now and then although the server is all right. */
const passing: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'PROVIDER_UNAVAILABLE',
  'AGENT_UNAVAILABLE',
  'DATABASE_BUSY',
  'SHUTTING_DOWN',
])
/** How grave the failure is for who runs the server. */
export const failureLevel = (error: unknown): LogLevel =>
  error instanceof Problem && passing.has(error.code) ? 'warn' : 'error'

/** Notes that something failed, and why: a warning is enough for what passes by itself. */
export const logFailure = (
  log: Log,
  message: string,
  error: unknown,
  fields?: Readonly<Record<string, unknown>>,
): void => {
  // The daemon's membership logs it once, for all that fails by it.
  if (isOutOfReach(error)) return
  const level = failureLevel(error)
  log(level, message, { ...fields, cause: level === 'warn' ? reasonOf(error) : causeOf(error) })
}

/** Whether it is the database server that does not answer. */
const isOutOfReach = (error: unknown): boolean =>
  error instanceof Problem && error.code === 'DATABASE_BUSY' && error.message.startsWith('The database server ')
