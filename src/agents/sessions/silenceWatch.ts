import type { ServerConfig } from '../../config/server.ts'
import { AgentFailure, type RawUpdate } from '../link/agentLink.ts'
import { reasonIn, toPlainLine } from '../link/failureReasons.ts'
import { shownTime } from './chooseAgent.ts'

const maxOpenCalls = 1000
const maxTailLength = 400
/** What shows that the model has answered. Other updates, and user_message_chunk, come from the agent's own program. */
const modelKinds = new Set(['agent_message_chunk', 'agent_thought_chunk', 'tool_call', 'tool_call_update', 'plan'])
/** Copilot reports its retries as whole messages: "Info: Request failed due to a transient API error. Retrying..." */
const retryMessage = /^(info|warning): [^\n]{0,200}\bretrying\b[^\n]{0,100}$/i

/** An agent's visible wait for its model within a turn. */
export interface ModelWait {
  /** Since when it has said nothing, as an ISO time; null before that is long. */
  silentSince: string | null
  /** Its own report of a retry. */
  retrying: string | null
}
type Config = Pick<ServerConfig, 'agentQuietMs' | 'agentSilenceMs' | 'clock'>
const noWait: ModelWait = { silentSince: null, retrying: null }

/**
 * Watches whether an agent's model answers in a turn: agents retry for minutes, and most without a word. A running tool and a question
 * that waits for a person may take as long as they like.
 */
export class SilenceWatch {
  readonly #openCalls = new Set<string>()
  readonly #config: Config
  readonly #onChange: (wait: ModelWait) => void
  #questions = 0
  #timer: NodeJS.Timeout | undefined
  #lastSignMs = 0
  #told: ModelWait = noWait
  #turn: { reject(failure: AgentFailure): void; stderrTail(): string } | undefined

  constructor(config: Config, onChange: (wait: ModelWait) => void) {
    this.#config = config
    this.#onChange = onChange
  }

  /** Begins a turn. The promise rejects, with AgentFailure usage_limit unless the agent named something else, when the agent waited for its model too long. */
  begin(stderrTail: () => string): Promise<never> {
    return new Promise((_, reject) => {
      this.#openCalls.clear()
      this.#turn = { reject, stderrTail }
      this.#sign()
      this.#look()
    })
  }

  end(): void {
    this.#turn = undefined
    clearTimeout(this.#timer)
    this.#tell(noWait)
  }

  add(update: RawUpdate): void {
    if (!this.#turn) return
    const retrying = retryIn(update)
    if (retrying !== undefined) return this.#tell({ ...this.#told, retrying })
    if (!isSignOfModel(update)) return
    const wasBusy = this.#isBusy
    noteCall(this.#openCalls, update)
    this.#sign()
    if (wasBusy && !this.#isBusy) this.#look()
  }

  /** How many questions wait for a person. */
  setQuestions(open: number): void {
    const wasBusy = this.#isBusy
    this.#questions = open
    if (!this.#turn || wasBusy === this.#isBusy) return
    this.#sign()
    this.#look()
  }

  get #isBusy(): boolean {
    return this.#openCalls.size > 0 || this.#questions > 0
  }

  #sign(): void {
    this.#lastSignMs = performance.now()
    if (this.#told === noWait) return
    this.#tell(noWait)
    this.#look()
  }

  /** Reports or ends a wait that is due, and sets the timer for the next check. */
  #look(): void {
    clearTimeout(this.#timer)
    if (!this.#turn) return
    const { agentQuietMs, agentSilenceMs, clock } = this.#config
    const quietForMs = this.#isBusy ? 0 : performance.now() - this.#lastSignMs
    if (agentSilenceMs > 0 && quietForMs >= agentSilenceMs)
      return this.#turn.reject(failureOf(quietForMs, this.#told.retrying, this.#turn.stderrTail()))
    if (quietForMs >= agentQuietMs && this.#told.silentSince === null)
      this.#tell({ ...this.#told, silentSince: new Date(clock().getTime() - quietForMs).toISOString() })
    const next = [this.#told.silentSince === null ? agentQuietMs : 0, agentSilenceMs].filter(ms => ms > 0)
    if (next.length > 0)
      this.#timer = setTimeout(() => this.#look(), Math.max(1, Math.min(...next) - quietForMs)).unref()
  }

  #tell(wait: ModelWait): void {
    if (wait.silentSince === this.#told.silentSince && wait.retrying === this.#told.retrying) return
    this.#told = wait
    this.#onChange(wait)
  }
}

function noteCall(open: Set<string>, { sessionUpdate, toolCallId, status }: RawUpdate): void {
  if (!sessionUpdate.startsWith('tool_call') || typeof toolCallId !== 'string') return
  if (status === 'completed' || status === 'failed') open.delete(toolCallId)
  else if (open.size < maxOpenCalls) open.add(toolCallId)
}

const isSignOfModel = ({ sessionUpdate, used }: RawUpdate): boolean =>
  modelKinds.has(sessionUpdate) || (sessionUpdate === 'usage_update' && typeof used === 'number' && used > 0)

/** The message for people about a wait; null where there is none. */
export const describeWait = ({ silentSince, retrying }: ModelWait): string | null =>
  [
    retrying && `It tries again by itself: ${retrying}`,
    silentSince && `It has said nothing since ${shownTime(silentSince)}: it may be waiting for its model.`,
  ]
    .filter(Boolean)
    .join(' ') || null

/** The report of a retry in an update: Codex in its metadata, Copilot as a message. */
function retryIn({ sessionUpdate, _meta, content }: RawUpdate): string | undefined {
  const { text } = record(content)
  if (sessionUpdate === 'agent_message_chunk' && typeof text === 'string')
    return retryMessage.test(text.trim()) ? toPlainLine(text) : undefined
  const { message, additionalDetails, willRetry } = record(record(record(_meta).codex).error)
  if (willRetry !== true || typeof message !== 'string') return undefined
  return toPlainLine(typeof additionalDetails === 'string' ? `${message} (${additionalDetails})` : message)
}

const record = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}

function failureOf(quietForMs: number, retrying: string | null, stderr: string): AgentFailure {
  const wrote = toPlainLine(stderr.slice(-maxTailLength))
  return new AgentFailure(
    // Most agents retry without a word, and what they retry is mostly a limit: the project says whether the card waits for it.
    reasonIn(retrying ?? stderr) ?? 'usage_limit',
    [
      `The agent has shown no sign of its model for ${lengthOf(quietForMs)}, so its turn was ended.`,
      retrying && `It said: ${retrying}`,
      wrote && `It wrote: ${wrote}`,
    ]
      .filter(Boolean)
      .join(' '),
  )
}

const lengthOf = (ms: number): string =>
  ms < 90_000 ? `${Math.round(ms / 1000)} seconds` : `${Math.round(ms / 60_000)} minutes`
