import { Problem } from '../../contract/errors.ts'
import type { Ending } from '../../domain/agents/sessions.ts'
import { AgentFailure, type AgentLink } from '../link/agentLink.ts'
import { toPlainLine } from '../link/failureReasons.ts'
import { limitEndIn } from '../link/limitEnd.ts'

/** Thrown inside a run whose session was ended from outside. The run must no longer write the session's rows. */
export class RunStopped extends Error {}

/** Thrown if the agent ended its turn as cancelled without a request to cancel. */
export class CancelledByAgent extends Error {}

export const interrupted = {
  status: 'interrupted',
  statusReason: 'server_restart',
  detail: 'The server stopped while the agent was working.',
} as const satisfies Ending

/** The end of a session that is open in the database but has no run. */
export const lost: Ending = {
  status: 'failed',
  statusReason: 'crashed',
  detail: 'The server lost the agent. Its log has the details.',
}

/**
 * When the usage limit that ended a run ends. Null if the agent does not report the time; undefined if the cause was not a usage
 * limit.
 */
export function limitEndOf(
  error: unknown,
  link: Pick<AgentLink, 'stderrTail'> | undefined,
  now: Date,
): string | null | undefined {
  if (!(error instanceof AgentFailure) || error.reason !== 'usage_limit') return undefined
  return limitEndIn(error.message, now) ?? limitEndIn(link?.stderrTail() ?? '', now) ?? null
}

/** The ending of a session whose run failed. */
export function endingOf(error: unknown): Ending {
  if (error instanceof CancelledByAgent)
    return { status: 'cancelled', statusReason: 'cancelled', detail: 'The agent reported its turn as cancelled.' }
  if (error instanceof AgentFailure)
    return { status: 'failed', statusReason: error.reason, detail: toPlainLine(error.message) }
  if (error instanceof Problem) return { status: 'failed', statusReason: 'launch_failed', detail: error.message }
  return {
    status: 'failed',
    statusReason: 'crashed',
    detail: 'The server failed to run the agent. Its log has the details.',
  }
}
