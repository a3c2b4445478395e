import type { AgentLaunch, AgentLink, AgentListener, SpawnAgent } from './agentLink.ts'
import { openProcessPerTurn } from './commandAgent.ts'

/** The agent of a terminal card: the prompt is a shell command, which runs in the card's folder. */
export const openTerminal = (launch: AgentLaunch, listener: AgentListener, spawn: SpawnAgent): AgentLink =>
  openProcessPerTurn(launch, listener, spawn, command => ({
    command: { argv: ['sh', '-c', command], cwd: launch.cwd, env: launch.env },
    stdin: null,
    mergeStderr: true,
  }))
