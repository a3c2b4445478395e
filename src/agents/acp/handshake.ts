import { version } from '../../config/version.ts'
import { AgentFailure, type AgentCapabilities, type AgentLink } from '../link/agentLink.ts'
import type { AcpConnection } from './acpConnection.ts'
import type { PromptCapabilities } from './promptBlocks.ts'
import { asObject } from '../link/json.ts'

const protocolVersion = 1

/** An agent's response to `initialize`. */
export interface Handshake {
  info: AgentLink['info']
  capabilities: AgentCapabilities
  /** The methods by which the agent resumes a session, best first. */
  resumeMethods: readonly string[]
  authMethods: readonly string[]
  prompts: PromptCapabilities
}

/** Initializes a connection. The board offers neither files nor terminals: the agent uses its own tools in its folder. */
export async function initialize({ request }: AcpConnection, timeoutMs: number): Promise<Handshake> {
  const clientCapabilities = {
    fs: { readTextFile: false, writeTextFile: false },
    terminal: false,
    elicitation: { form: {} },
  }
  const response = asObject(
    await request(
      'initialize',
      { protocolVersion, clientCapabilities, clientInfo: { name: 'board', title: 'Board', version } },
      timeoutMs,
    ),
  )
  if (response.protocolVersion !== protocolVersion)
    throw new AgentFailure(
      'protocol_violation',
      `The agent does not support version ${protocolVersion} of the Agent Client Protocol.`,
    )
  const offered = asObject(response.agentCapabilities)
  const resumeMethods = [
    asObject(offered.sessionCapabilities).resume ? 'session/resume' : [],
    offered.loadSession === true ? 'session/load' : [],
  ].flat()
  const shortText = (value: unknown) => (typeof value === 'string' ? value.slice(0, 200) : null)
  return {
    info: {
      name: shortText(asObject(response.agentInfo).title) ?? shortText(asObject(response.agentInfo).name),
      version: shortText(asObject(response.agentInfo).version),
    },
    capabilities: {
      resume: resumeMethods.length > 0,
      tools: asObject(offered.mcpCapabilities).http === true,
    },
    resumeMethods,
    prompts: {
      image: asObject(offered.promptCapabilities).image === true,
      embeddedContext: asObject(offered.promptCapabilities).embeddedContext === true,
    },
    authMethods: (Array.isArray(response.authMethods) ? response.authMethods : []).flatMap(method =>
      typeof asObject(method).id === 'string' ? [asObject(method).id as string] : [],
    ),
  }
}
