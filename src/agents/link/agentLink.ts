import type { Writable } from 'node:stream'
import type { StatusReason } from '../../contract/agents.ts'
import type { Child, Exit } from '../../process/spawn.ts'

/** Why an agent did not do its work. */
export type FailureReason = Extract<
  StatusReason,
  'launch_failed' | 'usage_limit' | 'refused' | 'protocol_violation' | 'crashed' | 'timeout'
>

/** What an agent's failure was, in words for a person. No secret of the launch is in them. */
export class AgentFailure extends Error {
  readonly reason: FailureReason

  constructor(reason: FailureReason, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'AgentFailure'
    this.reason = reason
  }
}

/** A started process as the protocols need it. */
export type AgentProcess = Pick<Child<Writable>, 'stdin' | 'stdout' | 'stderr' | 'exited'>
export interface AgentCommand {
  argv: readonly string[]
  cwd: string
  env: Readonly<Record<string, string>>
}
/** Starts the process tree of an agent. It belongs to who gives this function: only they stop it, also when the agent failed to open. @throws LaunchFailed */
export type SpawnAgent = (command: AgentCommand) => Promise<AgentProcess>

/** Where an agent reaches the board's tools, with its own token. */
export interface BoardTools {
  url: string
  token: string
}

/** All that it takes to start an agent. */
export interface AgentLaunch {
  /** acp: the protocol over stdin and stdout. command: one process a prompt, its output is the answer. terminal: the prompt is a shell command. */
  protocol: 'acp' | 'command' | 'terminal'
  /** The program and its arguments. With `command`, an argument `{prompt}` stands for the prompt; without one it is written to stdin. */
  argv: readonly string[]
  cwd: string
  /** The whole environment of the process. */
  env: Readonly<Record<string, string>>
  /** Values that no message may show: the credential and the token. */
  secrets: readonly string[]
  /** The ids by which the agent may call its way to sign in with the credential of its environment. */
  authMethods: readonly string[]
  /** Whether the agent's usage of a turn counts the whole session so far. */
  usageIsCumulative: boolean
  tools: BoardTools | null
  /** Session modes of the agent's, best first: the first one that it offers is chosen. */
  modes?: readonly string[]
  /** Chosen when the agent offers it. */
  model?: string | null
}

/** One update of a session as the agent sent it, unknown kinds included. Everything in it is hostile. */
export type RawUpdate = { readonly sessionUpdate: string } & Readonly<Record<string, unknown>>
export interface PermissionOption {
  id: string
  name: string
  kind: string
}
/** A question that the agent's turn waits for. `kind` is the tool's; `switch_mode` asks to go on with a plan. */
export interface PermissionRequest {
  id: string
  toolCallId: string
  title: string
  kind: string
  options: readonly PermissionOption[]
}

/** Hears what an agent says, one thing at a time and in the order in which it was said. */
export interface AgentListener {
  /** A returned promise holds back the agent's output until it is kept, so that a flood fills no memory. A tool call's update may come before the call: upsert. */
  update(update: RawUpdate): void | Promise<void>
  /** Its tool call was told as an update before. Answer with `answerPermission`. */
  permission(request: PermissionRequest): void
  /** The answer is no longer wanted: the agent said so, or its turn ended. */
  permissionWithdrawn(id: string): void
}

/** Tokens of one turn. Cached input counts as input, thought as output. */
export interface TurnUsage {
  inputTokens: number
  outputTokens: number
}
/** How a turn ended that did not fail. */
export interface TurnEnd {
  stopReason: 'end_turn' | 'cancelled'
  usage: TurnUsage | null
}

export interface AgentCapabilities {
  resume: boolean
  tools: boolean
  /** Whether a session takes more than one prompt. */ followUps: boolean
}
export interface Choice {
  id: string
  name: string
}
/** A session with the agent, which is the agent's to name; null where there is no such thing. */
export interface StartedSession {
  sessionId: string | null
  resumed: boolean
  model: string | null
  mode: string | null
  modes: readonly Choice[]
  models: readonly Choice[]
}

/** A running agent. Everything that fails rejects with AgentFailure. */
export interface AgentLink {
  readonly info: { name: string | null; version: string | null }
  readonly capabilities: AgentCapabilities
  /** Opens a session, or goes on with `resume` where the agent can and still knows it; what it replays of the past is not told. Once. */
  start(resume?: string | null): Promise<StartedSession>
  /** Runs one turn; the next one only after it has ended. */
  prompt(text: string): Promise<TurnEnd>
  /**
   * Asks for the end of the turn, which counts as cancelled from here on, however it ends: also by the end of the process, the only
   * end of a plain command. Open permission requests are answered for the agent. Does nothing between turns.
   */
  cancel(): Promise<void>
  /** Chooses an option, or none (null). False when the request is not open any more. */
  answerPermission(id: string, optionId: string | null): boolean
  setMode(id: string): Promise<void>
  /** The last of what the agent wrote to stderr, at most 8 KiB, without secrets. */
  stderrTail(): string
  /** Ends the conversation and the agent's stdin. The process tree is the caller's to stop. */
  close(): void
  /** The end of the agent's process; null with `command` and `terminal`, where each turn is a process. */
  readonly exited: Promise<Exit> | null
}
