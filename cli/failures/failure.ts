import type { ApiFailure } from '../../src/client/failures.ts'

/** Exit codes by name (`board help exit-codes`). */
export const exits = {
  ok: 0,
  failure: 1,
  usage: 2,
  notFound: 3,
  denied: 4,
  conflict: 5,
  unreachable: 7,
  timedOut: 8,
  interrupted: 130,
} as const
export type Exit = keyof typeof exits

/** The meaning of each exit code, for help. */
export const exitMeanings: Record<Exit, string> = {
  ok: 'The command succeeded.',
  failure:
    'The command failed, a bulk command failed for at least one ID, or the work that a command waited for is not done.',
  usage: 'The command line is invalid, or the command needs input and cannot prompt.',
  notFound: 'The resource does not exist, or you cannot view it.',
  denied: "You are not signed in, or you don't have permission to do this.",
  conflict: 'The current state does not allow the change.',
  unreachable:
    'No server answered, or the server is busy. Try again later. Commands that wait tolerate an outage of up to --reconnect.',
  timedOut: 'The time limit expired.',
  interrupted: 'The command was interrupted, for example with Ctrl-C.',
}

/** A failure that is printed in up to three lines: the problem, a suggestion, and a command for details. */
export class Failure extends Error {
  readonly exit: Exit
  /** The second line: `did you mean: review`, or the fix. */
  readonly hint?: string
  /** A command that shows more, without its `see: `. */
  readonly see?: string

  constructor(exit: Exit, message: string, more: { hint?: string; see?: string; cause?: unknown } = {}) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause })
    this.name = 'Failure'
    this.exit = exit
    this.hint = more.hint
    this.see = more.see
  }
}

/** Creates a failure for an invalid command line. */
export const usage = (message: string, more?: { hint?: string; see?: string }): Failure =>
  new Failure('usage', message, more)

const fileReasons: Record<string, string> = {
  ENOENT: 'the file does not exist',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EISDIR: 'it is a folder',
  ENOTDIR: 'the file does not exist',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  ELOOP: 'its links form a loop',
}

/** Why a file cannot be read or written, in words. */
export function fileReason(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  return code === undefined ? message : (fileReasons[code] ?? code)
}

/** Returns the exit code for an HTTP status. */
function exitOfStatus(status: number): Exit {
  if (status === 401 || status === 403) return 'denied'
  if (status === 404) return 'notFound'
  if (status === 409 || status === 412) return 'conflict'
  if (status === 408 || status === 429 || status === 502 || status === 503 || status === 504) return 'unreachable'
  return status === 400 ? 'usage' : 'failure'
}

/** The exit code of anything that was thrown. */
export function exitOf(error: unknown): Exit {
  if (!(error instanceof Error)) return 'failure'
  // Compare by name, because a part that is loaded on demand has its own copy of the class.
  if (error.name === 'Failure') return (error as Failure).exit
  // The command line is valid, but the file is invalid, or a retry cannot help because the agent is unavailable.
  if ((error as ApiFailure).code === 'INVALID_BACKUP' || (error as ApiFailure).code === 'AGENT_UNAVAILABLE')
    return 'failure'
  if (error.name === 'ApiFailure' || error.name === 'Problem') return exitOfStatus((error as ApiFailure).status)
  if (error.name === 'Unreachable') return 'unreachable'
  return error.name === 'AbortError' ? 'interrupted' : 'failure'
}
