import type { AcpTimeouts } from '../../acp/acpAgent.ts'
import {
  AgentFailure,
  type AgentLaunch,
  type AgentLink,
  type AgentListener,
  type SpawnAgent,
} from '../../link/agentLink.ts'
import { openCommand } from '../../link/commandAgent.ts'
import { redactAgent } from '../../link/redactAgent.ts'
import { openTerminal } from '../../link/terminalAgent.ts'

/**
 * Starts an agent with the protocol of its launch. On failure, the agent's process can still run: stop the process tree that
 * `spawn` started.
 * @throws AgentFailure; errors of `spawn` other than LaunchFailed
 */
export async function openAgent(
  launch: AgentLaunch,
  listener: AgentListener,
  spawn: SpawnAgent,
  timeouts?: AcpTimeouts,
): Promise<AgentLink> {
  const redaction = redactAgent(launch.secrets, failOnListenerError(listener))
  return redaction.link(await open(launch, redaction.listener, spawn, timeouts))
}

async function open(
  launch: AgentLaunch,
  listener: AgentListener,
  spawn: SpawnAgent,
  timeouts?: AcpTimeouts,
): Promise<AgentLink> {
  if (launch.protocol === 'acp') {
    // Loaded on demand: the protocol's package slows down the start of the server.
    const { acpTimeouts, openAcp } = await import('../../acp/acpAgent.ts')
    return openAcp(launch, listener, spawn, timeouts ?? acpTimeouts)
  }
  return launch.protocol === 'terminal' ? openTerminal(launch, listener, spawn) : openCommand(launch, listener, spawn)
}

/** An error in the listener fails the agent, because the agent must not continue if its output cannot be stored. */
function failOnListenerError(listener: AgentListener): AgentListener {
  const asFailure = (cause: unknown) =>
    new AgentFailure('crashed', 'The output of the agent could not be stored.', cause)
  return {
    permission: request => listener.permission(request),
    permissionWithdrawn: id => listener.permissionWithdrawn(id),
    update(update) {
      try {
        return listener.update(update)?.catch(cause => {
          throw asFailure(cause)
        })
      } catch (cause) {
        throw asFailure(cause)
      }
    },
  }
}
