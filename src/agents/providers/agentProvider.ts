import type { FailedTurnRule, ToolNaming } from '../link/agentLink.ts'
import type { CredentialMappings } from './credentialEnvironment.ts'
import type { TelemetryOff } from './telemetryOff.ts'

/** A kind of agent: how to start it, and how to pass it a credential. */
export interface AgentProvider {
  id: string
  name: string
  protocol: 'acp' | 'command'
  /** The program and its arguments. With the protocol `command`, an argument can contain `{prompt}`. */
  command: readonly string[]
  /** Installation instructions: a command or an address. */
  install: string | null
  credentials: CredentialMappings
  /** Environment variables that the agent always gets. */
  env: Readonly<Record<string, string>>
  /** Variables of the server's environment that the agent gets if no credential is chosen: its sign-in and settings. */
  account: readonly string[]
  /** Variables of the server's environment that the agent always gets. */
  pass: readonly string[]
  /** Initial files of every home of a credential, by relative path. */
  homeFiles: Readonly<Record<string, string>>
  /**
   * Folders and files in the account's home that contain the agent's sign-in and state. The sandbox gives the agent access to
   * them.
   */
  state: readonly string[]
  /** Folders in `state` that contain only conversations. The sandbox replaces them with separate folders for each project. */
  conversations: readonly string[]
  /** Undefined for an agent without its own sandbox. */
  sandboxOverride?: SandboxOverride
  /** IDs of authentication methods that use the agent's environment. */
  authMethods: readonly string[]
  /** Arguments that allow the board's tools that run no command, for agents whose permission requests do not name the tool. */
  toolArgs: readonly string[]
  /** Where the agent names the tool in a permission request, if it does not use the protocol's own field. */
  toolNaming?: ToolNaming
  /** Session modes, best first: for work in the session's folder, and for planning without changes. */
  modes: { work: readonly string[]; plan: readonly string[] }
  model: string | null
  /** The hosts of the agent's model and sign-in without a credential, which the sandbox always allows. */
  modelHosts: readonly string[]
  /** The agent's version that the board was tested with, as the agent reports it. `test/agents-real/package.json` has the packages. */
  tried: string | null
  usageIsCumulative: boolean
  /** Detects failed turns that the agent reported as successful. */
  failedTurn?: FailedTurnRule
  /** Undefined if the operator enabled telemetry, or if the agent has no known telemetry. */
  telemetryOff?: TelemetryOff
}

/** The settings of an agent that has its own sandbox, for use inside the board's sandbox, where its own sandbox fails. */
export interface SandboxOverride {
  /**
   * The variable that points to the board's wrapper for the agent's program. If the account sets this variable, the agent cannot
   * run in the board's sandbox.
   */
  wrapper: string
  /** Variables for the wrapper inside the sandbox. */
  env: Readonly<Record<string, string>>
  /** The mode without the agent's own sandbox, and the modes that it replaces. Other modes are unchanged. */
  mode: string
  replaced: readonly string[]
  /** The mode in which the agent changes nothing. There, the board's sandbox enforces read-only access. */
  readOnlyMode: string
}

const plan = ['plan', 'https://agentclientprotocol.com/protocol/session-modes#plan', 'read-only', 'ask', 'chat']

type BuiltIn = Partial<Omit<AgentProvider, 'modes'>> &
  Pick<AgentProvider, 'id' | 'name' | 'command' | 'credentials'> & { modes?: Partial<AgentProvider['modes']> }

/** Returns a provider with the defaults that most agents share. */
export const defineProvider = (given: BuiltIn): AgentProvider => ({
  protocol: 'acp',
  install: null,
  env: {},
  account: [],
  pass: [],
  homeFiles: {},
  state: [],
  conversations: [],
  authMethods: [],
  toolArgs: [],
  model: null,
  modelHosts: [],
  tried: null,
  usageIsCumulative: false,
  ...given,
  modes: { work: [], plan, ...given.modes },
})
