import { setTimeout as delay } from 'node:timers/promises'
import { LaunchFailed, type Exit } from '../../process/spawn.ts'
import { failureOf, reasonIn, shown } from './failureReasons.ts'
import { hideSecrets } from './redactSecrets.ts'
import type { SafeTail } from './stderrTail.ts'
import { AgentFailure, type AgentProcess, type FailureReason } from './agentLink.ts'

/** How long a process that broke off its conversation has to exit, so that the exit can tell why. */
const exitWithinMs = 2000

/** How a process ended, as part of a sentence. */
export const describeExit = ({ code, signal }: Exit): string =>
  signal ? `was ended by ${signal}` : `ended with exit code ${code}`

/** The failure of a program that could not be started. What else went wrong is no fault of the agent's. */
export const notStarted = (error: unknown): unknown =>
  error instanceof LaunchFailed ? new AgentFailure('launch_failed', shown(error.message), error) : error

/** What made a conversation end, put as an AgentFailure. */
export interface Endings {
  explain(error: unknown, otherwise: FailureReason): Promise<AgentFailure>
}

/** @param isGarbage whether all that came was nothing of the protocol */
export function createEndings(
  child: AgentProcess,
  tail: SafeTail,
  secrets: readonly string[],
  isGarbage: () => boolean,
): Endings {
  const safe = (failure: AgentFailure) =>
    new AgentFailure(failure.reason, hideSecrets(failure.message, secrets), failure.cause)
  async function whyGone(otherwise: FailureReason): Promise<AgentFailure> {
    const exit = await Promise.race([child.exited, delay(exitWithinMs, undefined, { ref: false })])
    if (!exit) return new AgentFailure('protocol_violation', 'The agent closed its output but went on running.')
    if (isGarbage())
      return new AgentFailure(
        'protocol_violation',
        `The agent ${describeExit(exit)} without a word of the Agent Client Protocol.${said(tail)}`,
      )
    return new AgentFailure(
      (exit.signal ? undefined : reasonIn(tail.text())) ?? otherwise,
      `The agent ${describeExit(exit)}${otherwise === 'crashed' ? ' in the middle of its turn' : ' before its session was open'}.${said(tail)}`,
    )
  }
  return {
    async explain(error, otherwise) {
      if (error instanceof AgentFailure) return safe(error)
      return safe(
        typeof (error as { code?: unknown })?.code === 'number'
          ? failureOf(error as { code: number }, otherwise)
          : await whyGone(otherwise),
      )
    },
  }
}

/** What the agent wrote last, as a sentence of its own. */
export function said(tail: SafeTail): string {
  const last = tail.text()
  return last ? ` It wrote: ${shown(last.slice(-400))}` : ''
}
