import type { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { Problem } from '../../contract/errors.ts'
import { LaunchFailed, type Exit } from '../../process/spawn.ts'
import { AgentFailure, type AgentProcess, type FailureReason } from './agentLink.ts'
import { failureOf, reasonIn, toPlainLine } from './failureReasons.ts'
import { redactSecrets } from './redactSecrets.ts'
import type { StderrTail } from './stderrTail.ts'

/** How long to wait for the exit status, which explains a broken connection. */
const exitTimeoutMs = 2000
/** How long to wait for the end of stderr, which a process that the agent left behind can keep open. */
const stderrTimeoutMs = 500

/** Describes the exit of a process as part of a sentence. */
export const describeExit = ({ code, signal }: Exit): string =>
  signal ? `was ended by ${signal}` : `ended with exit code ${code}`

/** Converts LaunchFailed to the agent's failure. Returns any other error unchanged. */
export const asLaunchFailure = (error: unknown): unknown =>
  error instanceof LaunchFailed ? new AgentFailure('launch_failed', toPlainLine(error.message), error) : error

/** Converts a problem that a user can fix to a launch failure with the same message. Returns any other error unchanged. */
export const refusalAsLaunchFailure = (error: unknown): unknown =>
  error instanceof Problem && error.status < 500 ? new AgentFailure('launch_failed', error.message, error) : error

/** Converts an error that ended a conversation into an AgentFailure. */
export interface FailureExplainer {
  explain(error: unknown, fallback: FailureReason): Promise<AgentFailure>
}

/** @param isGarbage whether the agent wrote lines, but none that follows the protocol */
export function createFailureExplainer(
  child: AgentProcess,
  tail: StderrTail,
  secrets: readonly string[],
  isGarbage: () => boolean,
): FailureExplainer {
  const redactFailure = (failure: AgentFailure) =>
    new AgentFailure(failure.reason, redactSecrets(failure.message, secrets), failure.cause)
  async function explainExit(fallback: FailureReason): Promise<AgentFailure> {
    const exit = await Promise.race([child.exited, delay(exitTimeoutMs, undefined, { ref: false })])
    if (!exit) return new AgentFailure('protocol_violation', 'The agent closed its output but is still running.')
    await readRest(child.stderr)
    if (isGarbage())
      return new AgentFailure(
        'protocol_violation',
        `The agent ${describeExit(exit)} without sending an Agent Client Protocol message.${describeTail(tail)}`,
      )
    return new AgentFailure(
      (exit.signal ? undefined : reasonIn(tail.text())) ?? fallback,
      `The agent ${describeExit(exit)}${fallback === 'crashed' ? ' during its turn' : ' before its session was open'}.${describeTail(tail)}`,
    )
  }
  return {
    async explain(error, fallback) {
      if (error instanceof AgentFailure) return redactFailure(error)
      return redactFailure(
        typeof (error as { code?: unknown })?.code === 'number'
          ? failureOf(error as { code: number }, fallback)
          : await explainExit(fallback),
      )
    },
  }
}

/** Waits for the end of stderr: its last lines can arrive after the exit. */
const readRest = (stderr: Readable): Promise<void> =>
  finished(stderr, { signal: AbortSignal.timeout(stderrTimeoutMs) }).catch(() => undefined)

/** The end of the agent's output, as a sentence. */
export function describeTail(tail: StderrTail): string {
  const last = tail.text()
  return last ? ` It wrote: ${toPlainLine(last.slice(-400))}` : ''
}
