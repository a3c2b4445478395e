import { setTimeout as delay } from 'node:timers/promises'
import { logFailure } from '../../config/log.ts'
import { requirePhaseStep, type RunPhase } from '../../domain/sessionStates.ts'
import { readContextRelay } from '../../domain/settings.ts'
import type { OpenSession, SessionPurpose } from '../../store/sessions.ts'
import { listWaitingMessages } from '../../store/waitingMessages.ts'
import { AgentFailure, type AgentLink, type AgentListener, type PermissionRequest } from '../link/agentLink.ts'
import { openTranscript, type Transcript } from '../transcript/agentTranscript.ts'
import { createLastMessage } from '../transcript/lastMessage.ts'
import { transcriptOf } from '../transcript/transcriptWriter.ts'
import { createAgentProcesses, type AgentProcesses } from './agentProcesses.ts'
import { createContextWatch } from './contextWatch.ts'
import { handoffRequest } from './handoff.ts'
import { openAgent } from './openAgent.ts'
import { createOpenQuestions } from './openQuestions.ts'
import { prepareSession } from './prepareSession.ts'
import type { RunDependencies } from './runDependencies.ts'
import { CancelledByAgent, endingOf, RunStopped } from './sessionEndings.ts'
import { SessionRecord } from './sessionRecord.ts'

const turnEndTimeoutMs = 1500
const stopGraceMs = 500

/** A question beside the task, which gets a turn of its own. */
interface SideQuestion {
  text: string
  resolve(answer: string): void
  reject(error: unknown): void
}

/** The run's phase with what exists in it. */
type RunState =
  | { phase: 'preparing'; transcript?: undefined; link?: undefined }
  | { phase: 'opening'; transcript: Transcript; link?: AgentLink }
  | { phase: 'ready'; transcript: Transcript; link: AgentLink }
  | { phase: 'turn'; transcript: Transcript; link: AgentLink; ended: Promise<unknown> }
  | { phase: 'closing'; transcript?: Transcript; link?: AgentLink }

/**
 * Runs a queued session to its end, through the phases that src/domain/sessionStates.ts draws. However it ends, its row says so and its
 * processes are gone when `over` resolves.
 */
export class SessionRun {
  readonly id: number
  readonly cardId: number
  readonly purpose: SessionPurpose
  /** Resolves when no process of the run is left. Never rejects. */
  readonly over: Promise<void>

  #state: RunState = { phase: 'preparing' }
  /** The next turns, before the messages that wait in the database. */
  readonly #pending: { sideQuestions: SideQuestion[]; handoff: boolean } = { sideQuestions: [], handoff: false }
  readonly #questions = createOpenQuestions()
  readonly #lastMessage = createLastMessage()
  readonly #context = createContextWatch()
  /** Aborted when the session was ended from outside: its rows are no longer this run's to write. */
  readonly #stopped = new AbortController()
  #stopping: Promise<void> | undefined
  readonly #dependencies: RunDependencies
  readonly #record: SessionRecord
  readonly #processes: AgentProcesses

  constructor(dependencies: RunDependencies, { id, cardId, purpose }: OpenSession) {
    this.id = id
    this.cardId = cardId
    this.purpose = purpose
    this.#dependencies = dependencies
    this.#record = new SessionRecord(dependencies, id, this.#stopped.signal)
    this.#processes = createAgentProcesses(dependencies, id, this.#stopped.signal)
    this.over = this.#run()
  }

  /** Ends the processes; the agent is asked first. The caller has ended the session's row. Takes at most 6 s. */
  stop(): Promise<void> {
    return (this.#stopping ??= this.#stop())
  }

  /** The open permission request of this id; without an id, the only one. @throws Problem NOTHING_TO_APPROVE, CONFLICT */
  question(id: string | undefined): PermissionRequest {
    return this.#questions.find(id)
  }

  /** Answers a permission request. False when it is not open any more. */
  async answer(id: string, approved: boolean): Promise<boolean> {
    const { link } = this.#state
    if (!link || !this.#questions.answer(link, id, approved)) return false
    this.#writeQuestions()
    await this.#record.settle()
    return true
  }

  /** Asks a question beside the task once the present turn has ended. Resolves to the agent's answer. */
  ask(text: string): Promise<string> {
    return new Promise((resolve, reject) => {
      if (this.#state.phase === 'closing') reject(new RunStopped())
      else this.#pending.sideQuestions.push({ text, resolve, reject })
    })
  }

  /** Hands off to a fresh session: cancels the present turn, asks for a summary and completes. */
  requestHandoff(): void {
    if (this.#pending.handoff) return
    this.#pending.handoff = true
    void this.#state.link?.cancel()
  }

  async #run(): Promise<void> {
    try {
      for (let prompt: string | undefined = await this.#open(); prompt !== undefined; prompt = await this.#nextPrompt())
        await this.#turn(prompt)
    } catch (error) {
      await this.#fail(error).catch(cause => this.#logError('The end of a session could not be written.', cause))
    } finally {
      await this.#close()
    }
  }

  /** preparing → opening → ready. Returns the first prompt. */
  async #open(): Promise<string> {
    const { session, isFirst } = await this.#record.begin()
    const { launch, remark } = await prepareSession(this.#dependencies, this.#record, session)
    this.#requireNotStopped()
    const transcript = openTranscript(this.#dependencies.db, transcriptOf(session), launch.secrets)
    this.#enter({ phase: 'opening', transcript })
    const spawn = this.#processes.spawner(this.purpose === 'terminal' ? 'terminal' : 'agent')
    const link = await openAgent(launch, this.#listener(transcript), spawn)
    this.#enter({ phase: 'opening', transcript, link })
    const started = await link.start(session.resumable === 1 ? session.agentSessionId : null)
    const canResume = link.capabilities.resume
    const prompt = await this.#record.open(session, started, { canResume, isFirst, remark })
    this.#enter({ phase: 'ready', transcript, link })
    return prompt
  }

  /** ready → turn → ready. */
  async #turn(prompt: string, isHandoff = false): Promise<void> {
    const { db } = this.#dependencies
    this.#context.configure(await readContextRelay(db))
    this.#requireNotStopped()
    const { transcript, link } = this.#ready()
    this.#lastMessage.beginTurn()
    const prompted = link.prompt(prompt)
    this.#enter({ phase: 'turn', transcript, link, ended: prompted.catch(() => {}) })
    // The handoff was requested before the agent was ready.
    if (this.#pending.handoff && !isHandoff) void link.cancel()
    try {
      const { stopReason, usage } = await prompted
      await transcript.settle()
      await this.#record.addTurnUsage(usage)
      this.#requireNotStopped()
      if (stopReason === 'cancelled' && !this.#pending.handoff && (await listWaitingMessages(db, this.id)).length === 0)
        throw new CancelledByAgent()
    } finally {
      this.#enter({ phase: 'ready', transcript, link })
      if (!link.exited) await this.#processes.terminate()
    }
  }

  /** The prompt after a turn; undefined when the session is completed. */
  async #nextPrompt(): Promise<string | undefined> {
    for (let each = this.#pending.sideQuestions.shift(); each; each = this.#pending.sideQuestions.shift())
      await this.#answerSideQuestion(each)
    if (!this.#pending.handoff) return this.#record.takeMessageOrComplete(this.#lastMessage.text())
    const settings = await readContextRelay(this.#dependencies.db)
    await this.#turn(handoffRequest(settings), true)
    await this.#record.handOff(this.#lastMessage.text(), settings)
    return undefined
  }

  async #answerSideQuestion({ text, resolve, reject }: SideQuestion): Promise<void> {
    try {
      await this.#turn(text)
      resolve(this.#lastMessage.text())
    } catch (error) {
      reject(error)
      throw error
    }
  }

  async #fail(error: unknown): Promise<void> {
    if (this.#stopped.signal.aborted || error instanceof RunStopped) return
    const { log } = this.#dependencies
    const ending = endingOf(error)
    if (error instanceof AgentFailure || error instanceof CancelledByAgent)
      log('info', 'An agent did not complete its session.', { sessionId: this.id, reason: ending.statusReason })
    else logFailure(log, 'A session failed.', error, { sessionId: this.id })
    await this.#state.transcript?.settle().catch(() => {
      /* The ending is written all the same. */
    })
    await this.#record.fail(ending)
  }

  /** Any phase but turn → closing. */
  async #close(): Promise<void> {
    const { transcript, link } = this.#state
    this.#enter({ phase: 'closing', transcript, link })
    link?.close()
    for (const { reject } of this.#pending.sideQuestions.splice(0)) reject(new RunStopped())
    await this.#processes
      .terminate()
      .catch(cause => this.#logError('The processes of a session could not be ended.', cause))
    await transcript?.settle().catch(() => {
      /* The session was deleted, or the server stops. */
    })
    await this.#record
      .writeAftermath(() => this.#lastMessage.text())
      .catch(() => {
        /* The session was deleted, or the server stops. */
      })
  }

  async #stop(): Promise<void> {
    this.#stopped.abort()
    const { link } = this.#state
    await link?.cancel().catch(() => {
      /* Its process is ended all the same. */
    })
    if (this.#state.phase === 'turn')
      await Promise.race([this.#state.ended, delay(turnEndTimeoutMs, undefined, { ref: false })])
    this.#state.link?.close()
    await this.#processes.terminate(stopGraceMs).catch(() => {
      /* The closing phase tries again. */
    })
    await this.over
  }

  #listener(transcript: Transcript): AgentListener {
    return {
      update: update => {
        this.#lastMessage.add(update)
        this.#context.add(update)
        if (this.#context.isFull()) this.requestHandoff()
        return transcript.add(update)
      },
      permission: request => {
        this.#questions.add(request)
        this.#writeQuestions()
      },
      permissionWithdrawn: id => {
        this.#questions.remove(id)
        this.#writeQuestions()
      },
    }
  }

  /** Writes the open questions after the transcript, so that a client finds there the tool call that a question is about. */
  #writeQuestions(): void {
    void this.#record
      .writeQuestions(
        async () => {
          await this.#state.transcript?.settle().catch(() => {})
        },
        () => this.#questions.open(),
      )
      .catch(cause => this.#logError('The questions of an agent could not be written.', cause))
  }

  #enter(state: RunState): void {
    requirePhaseStep(this.#state.phase, state.phase)
    this.#state = state
  }

  #ready(): RunState & { phase: 'ready' } {
    if (this.#state.phase === 'ready') return this.#state
    throw new Error(`A turn cannot begin in phase ${this.#state.phase satisfies RunPhase}.`)
  }

  #requireNotStopped(): void {
    if (this.#stopped.signal.aborted) throw new RunStopped()
  }

  #logError(message: string, cause: unknown): void {
    this.#dependencies.log('error', message, { sessionId: this.id, cause: String(cause) })
  }
}
