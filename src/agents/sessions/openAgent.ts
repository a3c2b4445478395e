import type { AcpTimeouts } from '../acp/acpAgent.ts'
import {
  AgentFailure,
  type AgentLaunch,
  type AgentLink,
  type AgentListener,
  type SpawnAgent,
} from '../link/agentLink.ts'
import { openCommand } from '../link/commandAgent.ts'
import { openTerminal } from '../link/terminalAgent.ts'

/**
 * Starts an agent with the protocol of its launch. On failure its process may still run: stop what `spawn` started.
 * @throws AgentFailure; what `spawn` throws beside LaunchFailed
 */
export async function openAgent(
  launch: AgentLaunch,
  listener: AgentListener,
  spawn: SpawnAgent,
  timeouts?: AcpTimeouts,
): Promise<AgentLink> {
  const failing = failOnListenerError(listener)
  if (launch.protocol === 'acp') {
    // Loaded on demand: the protocol's package slows down the start of the server.
    const { acpTimeouts, openAcp } = await import('../acp/acpAgent.ts')
    return openAcp(launch, failing, spawn, timeouts ?? acpTimeouts)
  }
  return launch.protocol === 'terminal' ? openTerminal(launch, failing, spawn) : openCommand(launch, failing, spawn)
}

/** An error of the listener fails the agent: one whose output cannot be stored must not go on. */
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
