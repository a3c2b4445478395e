import type { LogLevel } from '../contract/logs.ts'

/**
 * Notes what happens on the server. Callers pass no secrets: no bodies, no headers, no query strings. The fields `source` (the part of
 * the server that says it) and `requestId` have places of their own in an entry.
 */
export type Log = (level: LogLevel, message: string, fields?: Readonly<Record<string, unknown>>) => void

/** The log of one part of the server. */
export const from = (log: Log, source: string): Log => (level, message, fields) => log(level, message, { source, ...fields })

/** An error as a field of an entry: its stack, and those of its causes. */
export function causeOf(error: unknown): string {
  const stacks: string[] = []
  for (let each = error; each !== undefined && each !== null && stacks.length < 5; each = (each as { cause?: unknown }).cause) stacks.push(each instanceof Error ? each.stack ?? String(each) : String(each))
  return stacks.join('\ncaused by: ')
}
