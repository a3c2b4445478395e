import type { ServerConfig } from '../../../config/server.ts'
import type { OnSilence } from '../../../contract/agents/silence.ts'
import type { AgentFailure, AgentLink, RawUpdate } from '../../link/agentLink.ts'
import type { AgentProcesses } from '../agentProcesses.ts'
import {
  failureNamedIn,
  isSignOfModel,
  lifelessAs,
  noWait,
  retryIn,
  silentFailure,
  type AgentWait,
} from '../queue/agentWait.ts'
import { ProcessorUse } from './processorUse.ts'
import type { SessionRecord } from '../sessionRecord.ts'

const maxOpenCalls = 1000
/** How often the processes of a silent agent are checked within the time limit. */
const checksPerLimit = 20
const maxMeasureMs = 60_000
/** The part of the time limit that measurements of the processes must cover. */
const minMeasured = 0.75
const maxTitleLength = 500

type Config = Pick<ServerConfig, 'agentQuietMs' | 'agentSilenceMs' | 'clock'>
type Watched = Pick<AgentLink, 'stderrTail' | 'stderrWritten' | 'exited'>
type Processes = Pick<AgentProcesses, 'usage'>
type SilenceRecorder = Pick<SessionRecord, 'noteWait' | 'onSilence'>

/**
 * Watches an agent during a turn. It reports two states. In the first, the agent waits for its model, as agents that retry
 * silently do. In the second, the agent shows no sign of life: it is silent and its processes use no CPU time. A running tool
 * does not count as waiting for a model, and is a sign of life while it works. A question can wait for a user indefinitely.
 */
export class SilenceWatch {
  /** Tool calls by ID, with their titles. */
  readonly #openCalls = new Map<string, string>()
  readonly #config: Config
  readonly #record: SilenceRecorder
  readonly #use: ProcessorUse
  #questions = 0
  #timer: NodeJS.Timeout | undefined
  /** When the agent last wrote output, and when one of its processes last worked. */
  #lastSignMs = 0
  #lastLifeMs = 0
  /** The number of bytes on stderr at the last sign. Earlier output describes errors that the agent has recovered from. */
  #writtenBefore = 0
  /** Counts the checks, because a check can still be reading when the next one starts. */
  #checks = 0
  #reported = noWait
  #turn: { link: Watched; reject(failure: AgentFailure): void } | undefined

  constructor(config: Config, processes: Processes, record: SilenceRecorder) {
    this.#config = config
    this.#record = record
    this.#use = new ProcessorUse(processes, config.agentSilenceMs)
  }

  /**
   * Starts a turn. The promise rejects with AgentFailure silent if the agent shows no sign of life for too long and the project ends such
   * turns. If the agent waits for its model for that long and has reported a reason since its last sign, the promise rejects with that
   * reason.
   */
  begin(link: Watched): Promise<never> {
    return new Promise((_, reject) => {
      this.#openCalls.clear()
      this.#turn = { link, reject }
      this.#noteSign()
      void this.#checkSigns()
    })
  }

  end(): void {
    this.#turn = undefined
    this.#checks++
    clearTimeout(this.#timer)
    this.#recordWait(noWait)
  }

  add(update: RawUpdate): void {
    if (!this.#turn) return
    const retrying = retryIn(update)
    if (retrying !== undefined) return this.#recordWait({ ...this.#reported, retrying })
    if (!isSignOfModel(update)) return
    const wasBusy = this.#isBusy
    noteCall(this.#openCalls, update)
    this.#noteSign()
    if (wasBusy && !this.#isBusy) void this.#checkSigns()
  }

  /** Sets the number of questions that wait for a user. */
  setQuestions(open: number): void {
    const hadQuestions = this.#questions > 0
    this.#questions = open
    if (!this.#turn || hadQuestions === open > 0) return
    this.#noteSign()
    void this.#checkSigns()
  }

  get #isBusy(): boolean {
    return this.#openCalls.size > 0 || this.#questions > 0
  }

  #noteSign(): void {
    this.#lastSignMs = this.#lastLifeMs = performance.now()
    this.#writtenBefore = this.#turn?.link.stderrWritten() ?? 0
    this.#use.reset()
    if (this.#reported === noWait) return
    this.#recordWait(noWait)
    void this.#checkSigns()
  }

  /** Reports waits and ends turns that are due, and sets the timer for the next check. */
  async #checkSigns(): Promise<void> {
    clearTimeout(this.#timer)
    const check = ++this.#checks
    this.#checkModel()
    await this.#checkActivity(check).catch(() => {
      /* The next check tries again. */
    })
    const pauseMs = this.#checks === check ? this.#pauseMs() : undefined
    if (pauseMs !== undefined) this.#timer = setTimeout(() => void this.#checkSigns(), Math.max(1, pauseMs)).unref()
  }

  /** The time until the next check. Undefined if nothing becomes due before the next event. */
  #pauseMs(): number | undefined {
    const { agentQuietMs, agentSilenceMs } = this.#config
    const now = performance.now()
    const due = [
      ...(this.#awaitsModel && this.#reported.silentSince === null ? [this.#lastSignMs + agentQuietMs - now] : []),
      ...(this.#mayBeLifeless ? [this.#measureMs] : []),
      ...(this.#mayBeLifeless && !this.#reported.lifeless ? [this.#lastLifeMs + agentSilenceMs - now] : []),
    ]
    return due.length > 0 ? Math.min(...due) : undefined
  }

  get #awaitsModel(): boolean {
    // A plain command reports no steps.
    return this.#turn !== undefined && this.#turn.link.exited !== null && !this.#isBusy
  }

  get #mayBeLifeless(): boolean {
    return this.#turn !== undefined && this.#config.agentSilenceMs > 0 && this.#questions === 0
  }

  get #measureMs(): number {
    return Math.min(this.#config.agentSilenceMs / checksPerLimit, maxMeasureMs)
  }

  #checkModel(): void {
    if (!this.#turn || !this.#awaitsModel) return
    const { agentQuietMs, agentSilenceMs } = this.#config
    const quietForMs = performance.now() - this.#lastSignMs
    const isOver = agentSilenceMs > 0 && quietForMs >= agentSilenceMs
    const named = isOver ? this.#failureNamed() : undefined
    if (named) this.#fail(named)
    else if (quietForMs >= agentQuietMs) this.#recordWait({ ...this.#reported, silentSince: this.#silentSince() })
  }

  async #checkActivity(check: number): Promise<void> {
    const signMs = this.#lastSignMs
    const isCurrent = () => this.#checks === check && this.#lastSignMs === signMs && this.#mayBeLifeless
    if (!this.#mayBeLifeless || performance.now() - this.#lastLifeMs < this.#measureMs) return
    const { haveWorked, forMs } = await this.#use.measure()
    if (!isCurrent()) return
    if (haveWorked) {
      this.#lastLifeMs = performance.now()
      const silentSince = this.#awaitsModel ? this.#reported.silentSince : null
      return this.#recordWait({ ...this.#reported, silentSince, lifeless: null })
    }
    const { agentSilenceMs } = this.#config
    if (performance.now() - this.#lastLifeMs < agentSilenceMs) return
    // A server that was itself suspended has not measured the processes in that time.
    if (!this.#reported.lifeless && forMs < minMeasured * agentSilenceMs) return
    const onSilence = await this.#record.onSilence()
    if (isCurrent()) this.#reportLifeless(onSilence)
  }

  #reportLifeless(onSilence: OnSilence): void {
    const tail = this.#turn!.link.stderrTail()
    const lifeless = this.#reported.lifeless ?? lifelessAs([...this.#openCalls.values()].at(-1), tail)
    const wait = { silentSince: this.#silentSince(), retrying: this.#reported.retrying, lifeless }
    if (onSilence === 'end')
      this.#fail(this.#failureNamed() ?? silentFailure(wait, performance.now() - this.#lastLifeMs))
    else this.#recordWait(wait)
  }

  /** The reason why the model does not answer, if the agent reports one. */
  #failureNamed(): AgentFailure | undefined {
    if (!this.#turn || this.#isBusy) return undefined
    const written = this.#turn.link.stderrTail(this.#writtenBefore)
    return failureNamedIn(this.#reported.retrying, written, performance.now() - this.#lastSignMs)
  }

  #silentSince(): string {
    const quietForMs = performance.now() - this.#lastSignMs
    return this.#reported.silentSince ?? new Date(this.#config.clock().getTime() - quietForMs).toISOString()
  }

  #fail(failure: AgentFailure): void {
    const turn = this.#turn
    this.#turn = undefined
    turn?.reject(failure)
  }

  #recordWait(wait: AgentWait): void {
    const { silentSince, retrying, lifeless } = this.#reported
    if (wait.silentSince === silentSince && wait.retrying === retrying && !wait.lifeless === !lifeless) return
    this.#reported = wait
    this.#record.noteWait(wait)
  }
}

function noteCall(open: Map<string, string>, { sessionUpdate, toolCallId, status, title }: RawUpdate): void {
  if (!sessionUpdate.startsWith('tool_call') || typeof toolCallId !== 'string') return
  if (status === 'completed' || status === 'failed') open.delete(toolCallId)
  else if (open.has(toolCallId) || open.size < maxOpenCalls)
    open.set(toolCallId, typeof title === 'string' ? title.slice(0, maxTitleLength) : (open.get(toolCallId) ?? ''))
}
