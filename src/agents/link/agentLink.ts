import type { Writable } from 'node:stream'
import type { StatusReason } from '../../contract/agents/agents.ts'
import type { Child, Exit } from '../../process/spawn.ts'

/** Why a session failed. */
export type FailureReason = Extract<
  StatusReason,
  | 'launch_failed'
  | 'setup_failed'
  | 'usage_limit'
  | 'model_error'
  | 'refused'
  | 'protocol_violation'
  | 'crashed'
  | 'timeout'
  | 'memory_limit'
  | 'process_limit'
  | 'time_limit'
  | 'file_limit'
  | 'silent'
  | 'unclear'
>

/** A failure of an agent. The message is for people and does not contain secrets of the launch. */
export class AgentFailure extends Error {
  readonly reason: FailureReason
  /** The usage of the turn before it failed. */
  usage: TurnUsage | null = null

  constructor(reason: FailureReason, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'AgentFailure'
    this.reason = reason
  }

  /** Returns this failure with the tokens that the failed turn used. */
  after(usage: TurnUsage | null): this {
    this.usage = usage
    return this
  }
}

/** The part of a process that the protocols use. */
export type AgentProcess = Pick<Child<Writable>, 'stdin' | 'stdout' | 'stderr' | 'exited'>
export interface AgentCommand {
  argv: readonly string[]
  cwd: string
  env: Readonly<Record<string, string>>
}
/**
 * Starts the process tree of an agent. The caller that passes this function must also stop the tree, even if the agent fails to open.
 * @throws LaunchFailed
 */
export type SpawnAgent = (command: AgentCommand) => Promise<AgentProcess>

/** The address of the board's tools and the agent's token for them. */
interface BoardTools {
  url: string
  token: string
}

/**
 * call_id: the ID of a call begins with the name of its function, as in Gemini CLI. title: the title of a call that is neither a
 * command nor a file is the name of its tool, as in GitHub Copilot CLI.
 */
export type ToolNaming = 'call_id' | 'title'

/** Everything needed to start an agent. */
export interface AgentLaunch {
  /**
   * acp: the protocol over stdin and stdout. command: one process per prompt, whose output is the answer. terminal: the prompt is
   * a shell command.
   */
  protocol: 'acp' | 'command' | 'terminal'
  /**
   * The program and its arguments. With `command`, the prompt replaces `{prompt}`; without that placeholder, the prompt is
   * written to stdin.
   */
  argv: readonly string[]
  cwd: string
  /**
   * The agent's folder in this project. It contains the agent's home, or only its conversations if the agent uses the account's
   * home.
   */
  ownFolder?: string
  /** Whether `ownFolder` contains the agent's home. */
  hasOwnHome?: boolean
  /** The session's folder for prompt attachments, which the agent can read. */
  filesFolder?: string
  /** The whole environment of the process. */
  env: Readonly<Record<string, string>>
  /** Redacted from every message and log: the credential and the token. */
  secrets: readonly string[]
  /** IDs of authentication methods that use the credential in the environment. */
  authMethods: readonly string[]
  /** Whether the agent reports the usage of the whole session instead of the turn's. */
  usageIsCumulative: boolean
  /** Where the agent reports the name of a call's tool, if it does not use the protocol's own field. */
  toolNaming?: ToolNaming
  /** Detects failed turns that the agent reported as successful. */
  failedTurn?: FailedTurnRule
  tools: BoardTools | null
  /** Session modes, best first. The first one that the agent offers is set. */
  modes?: readonly string[]
  /** The chosen options of the agent. If an option cannot be set, the session does not start. */
  choice?: { model: string | null; mode: string | null; effort: string | null }
  /** Whether the agent receives the chosen model in its environment, so that it does not need to offer the model. */
  modelIsKnown?: boolean
}

/** One session update as the agent sent it, unknown kinds included. Untrusted. */
export type RawUpdate = { readonly sessionUpdate: string } & Readonly<Record<string, unknown>>
export interface PermissionOption {
  id: string
  name: string
  kind: string
}
/** A permission that the agent's turn waits for. `kind` is the kind of the tool. The kind `switch_mode` asks for the approval of a plan. */
export interface PermissionRequest {
  id: string
  toolCallId: string
  title: string
  kind: string
  options: readonly PermissionOption[]
  /** Whether a text answer is possible. */
  takesText?: boolean
  /** The command that would run, as the agent's program reports it. */
  command: string | null
  /** The affected files. */
  paths: readonly string[]
  /** The plan to approve, as Markdown. */
  plan: string | null
  /**
   * The subject, for rules: a shell command, changes to files, reading files, a plan. unsandboxed: a command that would run outside
   * the sandbox. question: an answer in words. other: a person must see it.
   */
  about: 'command' | 'edit' | 'read' | 'plan' | 'unsandboxed' | 'question' | 'other'
}

/** Receives an agent's output, one item at a time and in order. */
export interface AgentListener {
  /**
   * No further output is read until a returned promise resolves (backpressure). A `tool_call_update` can arrive before its `tool_call`:
   * upsert.
   */
  update(update: RawUpdate): void | Promise<void>
  /** Called after an update with the tool call. Answer with `answerPermission`. */
  permission(request: PermissionRequest): void
  /** Called when the agent has withdrawn the request, or its turn has ended. */
  permissionWithdrawn(id: string): void
}

/** Tokens of one turn. Cached input counts as input, thought as output. */
export interface TurnUsage {
  inputTokens: number
  outputTokens: number
  /** The number of input tokens that were read from the provider's cache, if the agent reports it. */
  cachedTokens?: number
}
/** The result of a turn that did not fail. */
export interface TurnEnd {
  stopReason: 'end_turn' | 'cancelled'
  usage: TurnUsage | null
}
/** The parts of a turn that show whether its agent failed. */
export interface TurnSigns {
  /** The agent's text after its last tool call. */
  lastMessage: string
  /** The last chunk of text. A model's text arrives in many chunks, a program's own message in one. */
  lastChunk: string
  usedTools: boolean
  /** The tokens of the turn. Null if the agent reported none. */
  usage: TurnUsage | null
  /** Whether the response to the prompt reported tokens. */
  responseHasUsage: boolean
  /** The `_meta` of the newest updates of the session's state, oldest first. */
  states: readonly unknown[]
}
/** A failed turn that its agent reported as successful. */
export interface TurnFailure {
  reason: FailureReason
  message: string
}
/** Detects the failed turns of one agent. */
export type FailedTurnRule = (turn: TurnSigns) => TurnFailure | null

export interface AgentCapabilities {
  resume: boolean
  tools: boolean
}
export interface SessionOption {
  id: string
  name: string
}
/** The agent's session. A field is null if the agent does not support sessions, or that option. */
export interface StartedSession {
  sessionId: string | null
  resumed: boolean
  /** Why the agent could not resume its conversation, as a sentence. */
  refusal?: string
  model: string | null
  mode: string | null
  effort: string | null
  modes: readonly SessionOption[]
  models: readonly SessionOption[]
  efforts: readonly SessionOption[]
}

/**
 * An attachment of a prompt: a copy that the agent can read. `isLink`: the prompt contains only its name and location, even if
 * the agent accepts its content.
 */
export interface PromptFile {
  filename: string
  contentType: string
  size: number
  path: string
  isLink: boolean
}

/** A running agent. Every method rejects with AgentFailure. */
export interface AgentLink {
  readonly info: { name: string | null; version: string | null }
  readonly capabilities: AgentCapabilities
  /**
   * Opens a session, or resumes `resume` if the agent supports resuming and still has that conversation. Drops replayed updates.
   * Call it at most once.
   */
  start(resume?: string | null): Promise<StartedSession>
  /** Runs one turn. Only one turn can run at a time. */
  prompt(text: string, files?: readonly PromptFile[]): Promise<TurnEnd>
  /**
   * Asks the agent to end the turn. The turn counts as cancelled from then on, regardless of how it ends. A plain command ends
   * only with its process. Cancels open permission requests. Does nothing between turns.
   */
  cancel(): Promise<void>
  /** Answers with an option, with no option (null), or with text. Returns false if the request is no longer open. */
  answerPermission(id: string, optionId: string | null, text?: string | null): boolean
  setMode(id: string): Promise<void>
  /** The last 8 KiB of the agent's stderr, with secrets redacted. `from` is the number of leading bytes to omit. */
  stderrTail(from?: number): string
  /** The number of bytes on stderr so far; with `command` and `terminal`, in the current turn. */
  stderrWritten(): number
  /** Forwards updates that come after a turn: for `limitMs`, until `signal` aborts, or until the output of the agent's process ends. */
  receiveLate(limitMs: number, signal: AbortSignal): Promise<void>
  /** Closes the connection and the agent's stdin. The caller stops the process tree. */
  close(): void
  /** The end of the agent's process; null with `command` and `terminal`, where each turn is a process. */
  readonly exited: Promise<Exit> | null
}
