import type { Writable } from 'node:stream'
import type { StatusReason } from '../../contract/agents.ts'
import type { Child, Exit } from '../../process/spawn.ts'

/** Why a session failed. */
export type FailureReason = Extract<
  StatusReason,
  'launch_failed' | 'usage_limit' | 'refused' | 'protocol_violation' | 'crashed' | 'timeout'
>

/** A failure of an agent. The message is for people and holds no secret of the launch. */
export class AgentFailure extends Error {
  readonly reason: FailureReason

  constructor(reason: FailureReason, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'AgentFailure'
    this.reason = reason
  }
}

/** The part of a process that the protocols use. */
export type AgentProcess = Pick<Child<Writable>, 'stdin' | 'stdout' | 'stderr' | 'exited'>
export interface AgentCommand {
  argv: readonly string[]
  cwd: string
  env: Readonly<Record<string, string>>
}
/** Starts the process tree of an agent. The caller that passes this function also stops the tree, even when the agent failed to open. @throws LaunchFailed */
export type SpawnAgent = (command: AgentCommand) => Promise<AgentProcess>

/** The address of the board's tools and the agent's token for them. */
interface BoardTools {
  url: string
  token: string
}

/** Everything needed to start an agent. */
export interface AgentLaunch {
  /** acp: the protocol over stdin and stdout. command: one process a prompt, its output is the answer. terminal: the prompt is a shell command. */
  protocol: 'acp' | 'command' | 'terminal'
  /** The program and its arguments. With `command`, the prompt replaces `{prompt}`; where there is none, the prompt is written to stdin. */
  argv: readonly string[]
  cwd: string
  /** The whole environment of the process. */
  env: Readonly<Record<string, string>>
  /** Redacted from every message and log: the credential and the token. */
  secrets: readonly string[]
  /** Ids of authentication methods that use the credential in the environment. */
  authMethods: readonly string[]
  /** Whether the agent reports the usage of the whole session instead of the turn's. */
  usageIsCumulative: boolean
  tools: BoardTools | null
  /** Session modes, best first. The first one that the agent offers is set. */
  modes?: readonly string[]
  /** Set where the agent offers it. */
  model?: string | null
}

/** One session update as the agent sent it, unknown kinds included. Untrusted. */
export type RawUpdate = { readonly sessionUpdate: string } & Readonly<Record<string, unknown>>
export interface PermissionOption {
  id: string
  name: string
  kind: string
}
/** A permission that the agent's turn waits for. `kind` is the tool's; `switch_mode` asks for the approval of a plan. */
export interface PermissionRequest {
  id: string
  toolCallId: string
  title: string
  kind: string
  options: readonly PermissionOption[]
}

/** Receives an agent's output, one item at a time and in order. */
export interface AgentListener {
  /** A returned promise is backpressure: output is not read until it resolves. A `tool_call_update` may come before its `tool_call`: upsert. */
  update(update: RawUpdate): void | Promise<void>
  /** Comes after an update with its tool call. Answer with `answerPermission`. */
  permission(request: PermissionRequest): void
  /** The agent withdrew the request, or its turn ended. */
  permissionWithdrawn(id: string): void
}

/** Tokens of one turn. Cached input counts as input, thought as output. */
export interface TurnUsage {
  inputTokens: number
  outputTokens: number
}
/** The result of a turn that did not fail. */
export interface TurnEnd {
  stopReason: 'end_turn' | 'cancelled'
  usage: TurnUsage | null
}

export interface AgentCapabilities {
  resume: boolean
  tools: boolean
  /** Whether a session takes more than one prompt. */
  followUps: boolean
}
export interface SessionOption {
  id: string
  name: string
}
/** The agent's own session. null: the agent has no sessions, or no such option. */
export interface StartedSession {
  sessionId: string | null
  resumed: boolean
  model: string | null
  mode: string | null
  modes: readonly SessionOption[]
  models: readonly SessionOption[]
}

/** A running agent. Every method rejects with AgentFailure. */
export interface AgentLink {
  readonly info: { name: string | null; version: string | null }
  readonly capabilities: AgentCapabilities
  /** Opens a session, or resumes `resume` where the agent can and still knows it; replayed updates are dropped. May be called once. */
  start(resume?: string | null): Promise<StartedSession>
  /** Runs one turn. Only one may run at a time. */
  prompt(text: string): Promise<TurnEnd>
  /**
   * Asks the agent to end the turn. The turn counts as cancelled from here on, however it ends; a plain command ends only with its
   * process. Cancels open permission requests. Does nothing between turns.
   */
  cancel(): Promise<void>
  /** Chooses an option, or none (null). False when the request is not open any more. */
  answerPermission(id: string, optionId: string | null): boolean
  setMode(id: string): Promise<void>
  /** The last 8 KiB of the agent's stderr, with secrets redacted. */
  stderrTail(): string
  /** Closes the connection and the agent's stdin. The caller stops the process tree. */
  close(): void
  /** The end of the agent's process; null with `command` and `terminal`, where each turn is a process. */
  readonly exited: Promise<Exit> | null
}
