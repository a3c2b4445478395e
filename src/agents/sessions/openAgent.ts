import type { AcpLimits } from '../acp/acpAgent.ts'
import { openCommand } from '../link/commandAgent.ts'
import { openTerminal } from '../link/terminalAgent.ts'
import {
  AgentFailure,
  type AgentLaunch,
  type AgentLink,
  type AgentListener,
  type SpawnAgent,
} from '../link/agentLink.ts'

/**
 * Starts an agent in the way that it speaks. When this fails its process may still run: stop what `spawn` started.
 * @throws AgentFailure; what `spawn` throws beside LaunchFailed
 */
export async function openAgent(
  launch: AgentLaunch,
  listener: AgentListener,
  spawn: SpawnAgent,
  limits?: AcpLimits,
): Promise<AgentLink> {
  const heard = keepingAll(listener)
  if (launch.protocol === 'acp') {
    // The protocol's package takes a while to load, and a server that starts has no use for it yet.
    const { acpLimits, openAcp } = await import('../acp/acpAgent.ts')
    return openAcp(launch, heard, spawn, limits ?? acpLimits)
  }
  return launch.protocol === 'terminal' ? openTerminal(launch, heard, spawn) : openCommand(launch, heard, spawn)
}

/** A listener that cannot keep what it hears ends the conversation: an agent whose words are lost must not go on. */
function keepingAll(listener: AgentListener): AgentListener {
  const lost = (cause: unknown) => new AgentFailure('crashed', 'What the agent said could not be kept.', cause)
  return {
    permission: request => listener.permission(request),
    permissionWithdrawn: id => listener.permissionWithdrawn(id),
    update(update) {
      try {
        return listener.update(update)?.catch(cause => {
          throw lost(cause)
        })
      } catch (cause) {
        throw lost(cause)
      }
    },
  }
}
