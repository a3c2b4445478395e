import { setTimeout as delay } from 'node:timers/promises'
import { logFailure } from '../../config/log.ts'
import { requirePhaseStep, type RunPhase } from '../../domain/agents/sessionStates.ts'
import { readContextRelay } from '../../domain/accounts/settings.ts'
import { sandboxOf } from '../../store/projects/projects.ts'
import type { OpenSession } from '../../store/agents/sessions.ts'
import type { SessionPurpose } from '../../store/agents/sessionPurposes.ts'
import { hasWaitingMessage } from '../../store/agents/waitingMessages.ts'
import { AgentFailure, type AgentListener } from '../link/agentLink.ts'
import { openTranscript, type Transcript } from '../transcript/agentTranscript.ts'
import { createLastMessage } from '../transcript/lastMessage.ts'
import { transcriptOf } from '../transcript/transcriptWriter.ts'
import { createAgentProcesses, type AgentProcesses } from './agentProcesses.ts'
import { createContextWatch } from './watch/contextWatch.ts'
import { handoffRequest } from './prompts/handoff.ts'
import { openAgent } from './open/openAgent.ts'
import { prepareSession, type PreparedSession } from './prepare/prepareSession.ts'
import type { SessionPrompt } from './prompts/promptFiles.ts'
import type { RunDependencies } from './runDependencies.ts'
import { createRunListener } from './runListener.ts'
import { RunQuestions } from './questions/runQuestions.ts'
import type { RunState, SideQuestion } from './runState.ts'
import { CancelledByAgent, endingOf, limitEndOf, RunStopped } from './sessionEndings.ts'
import { LateUpdates } from './watch/lateUpdates.ts'
import { watchLimits, type LimitWatch } from './watch/limitWatch.ts'
import { RunCommands } from './commands/runCommands.ts'
import { RunSandboxRecorder } from './sandbox/runSandboxRecorder.ts'
import { SessionRecord } from './sessionRecord.ts'
import { SilenceWatch } from './watch/silenceWatch.ts'
import { resumeOrStart } from './open/resumeOrStart.ts'

const [turnEndTimeoutMs, stopGraceMs] = [1500, 500]

/**
 * Runs a queued session to its end, through the phases in src/domain/agents/sessionStates.ts. When `over` resolves, the session's row
 * records the ending and all its processes have exited.
 */
export class SessionRun {
  readonly id: number
  readonly cardId: number
  readonly purpose: SessionPurpose
  hasBegun = false
  /** The folder that the agent does not share with other projects. Undefined until it is prepared. */
  ownFolder: string | undefined
  readonly questions: RunQuestions
  readonly late = new LateUpdates()
  /** Resolves when no process of the run is left. Never rejects. */
  readonly over: Promise<void>

  #state: RunState = { phase: 'preparing' }
  /** The turns that come before the messages that wait in the database. */
  readonly #pending: { sideQuestions: SideQuestion[]; handoff: boolean } = { sideQuestions: [], handoff: false }
  readonly #lastMessage = createLastMessage()
  readonly #context = createContextWatch()
  /** Aborted when the session is ended from outside. From then on, the run must not write the session's rows. */
  readonly #stopped = new AbortController()
  #stopping: Promise<void> | undefined
  /** Whether a turn of the run has ended successfully, or has used a tool. */
  #progressed = false
  readonly #dependencies: RunDependencies
  readonly #record: SessionRecord
  readonly #processes: AgentProcesses
  readonly #commands: RunCommands
  readonly #sandbox: RunSandboxRecorder
  readonly #silence: SilenceWatch
  #prepared: PreparedSession | undefined
  #limits: LimitWatch | undefined

  constructor(dependencies: RunDependencies, { id, cardId, purpose }: OpenSession) {
    this.id = id
    this.cardId = cardId
    this.purpose = purpose
    this.#dependencies = dependencies
    this.#record = new SessionRecord(dependencies, id, this.#stopped.signal)
    this.#processes = createAgentProcesses(dependencies, id, this.#stopped.signal)
    this.#commands = new RunCommands(this.#processes)
    this.#sandbox = new RunSandboxRecorder(this.#record, dependencies.log)
    this.#silence = new SilenceWatch(dependencies.config, this.#processes, this.#record)
    this.questions = new RunQuestions(dependencies, this.#record, this.#silence, () => this.#state, purpose)
    this.over = this.#run()
  }

  /** Asks the agent to stop, then ends the processes. The caller has already ended the session's row. Takes at most 6 s. */
  stop(): Promise<void> {
    return (this.#stopping ??= this.#stop())
  }

  /** Asks a question unrelated to the task once the current turn has ended. Resolves to the agent's answer. */
  ask(text: string): Promise<string> {
    return new Promise((resolve, reject) => {
      if (this.#state.phase === 'closing') reject(new RunStopped())
      else this.#pending.sideQuestions.push({ text, resolve, reject })
    })
  }

  /** Hands off to a fresh session, except from a review: cancels the current turn, asks for a summary and completes. */
  requestHandoff(): void {
    if (this.#pending.handoff || this.purpose === 'review') return
    this.#pending.handoff = true
    void this.#state.link?.cancel()
  }

  async #run(): Promise<void> {
    try {
      for (let next: SessionPrompt | undefined = await this.#open(); next; next = await this.#nextPrompt())
        await this.#taskTurn(next)
    } catch (error) {
      await this.#fail(error).catch(cause => this.#logError('The end of a session could not be written.', cause))
    } finally {
      await this.#close()
    }
  }

  /** preparing → opening → ready. Returns the first prompt. */
  async #open(): Promise<SessionPrompt> {
    const { session, isFirst } = await this.#record.begin()
    this.hasBegun = true
    this.#prepared = await prepareSession({
      dependencies: this.#dependencies,
      record: this.#record,
      session,
      onAsked: asked => asked.isAllowed || this.#sandbox.noteRefused(session.projectId, asked),
    })
    const { project, workplace, launch, sandbox, commands } = this.#prepared
    this.ownFolder = launch.ownFolder
    await this.#sandbox.use(sandbox)
    this.#limits = watchLimits(sandboxOf(project), this.#processes, { cgroup: sandbox.cgroup })
    this.#requireNotStopped()
    const transcript = openTranscript(this.#dependencies.db, transcriptOf(session))
    this.#enter({ phase: 'opening', transcript })
    const note = await this.#commands.before(commands, sandbox, update => transcript.add(update))
    this.#requireNotStopped()
    this.questions.prepareTurn()
    const spawn = this.#processes.spawner(this.purpose === 'terminal' ? 'terminal' : 'agent', sandbox)
    const { link, started } = await resumeOrStart(
      () => openAgent(sandbox.inside(launch), this.#listener(transcript), spawn),
      link => this.#enter({ phase: 'opening', transcript, link }),
      session.resumable === 1 ? session.agentSessionId : null,
    )
    const remarks = [[...workplace.remarks, ...sandbox.remarks].join('\n'), note]
    const prompt = await this.#record.open(session, { link, started, isFirst, remarks, about: workplace.about })
    this.#enter({ phase: 'ready', transcript, link })
    return prompt
  }

  /** A turn of the card's task, which can end with a question to users. */
  async #taskTurn(prompt: SessionPrompt): Promise<void> {
    await this.questions.beginTurn()
    await this.#turn(prompt)
    await this.questions.endTurn(this.#lastMessage.text())
  }

  /** ready → turn → ready. */
  async #turn({ text, attachments }: SessionPrompt, isHandoff = false): Promise<void> {
    const { db } = this.#dependencies
    this.#context.configure(await readContextRelay(db))
    const prompt = (await this.#prepared?.promptFiles.copy({ text, attachments })) ?? { text, files: [] }
    await this.#state.transcript?.finishMessages()
    this.#requireNotStopped()
    const { transcript, link } = this.#ready()
    this.#lastMessage.beginTurn()
    this.#record.usage.beginTurn()
    const prompted = link.prompt(prompt.text, prompt.files)
    this.#enter({ phase: 'turn', transcript, link, ended: prompted.catch(() => {}) })
    // The handoff was requested before the agent was ready.
    if (this.#pending.handoff && !isHandoff) void link.cancel()
    try {
      // A user's terminal can be idle.
      const silent = this.purpose !== 'terminal' && this.#silence.begin(link)
      const { stopReason, usage } = await (silent ? Promise.race([prompted, silent]) : prompted)
      this.late.recordTurnEnd()
      this.#silence.end()
      await transcript.flush()
      await this.#sandbox.takeCommits()
      this.#record.messagesAnswered()
      await this.#record.usage.endTurn(usage)
      this.#progressed = true
      this.#requireNotStopped()
      if (stopReason === 'cancelled' && !this.#pending.handoff && !(await hasWaitingMessage(db, this.id)))
        throw new CancelledByAgent()
    } catch (error) {
      if (error instanceof AgentFailure) await this.#record.usage.endTurn(error.usage)
      throw error
    } finally {
      this.#silence.end()
      this.#enter({ phase: 'ready', transcript, link })
      if (!link.exited) await this.#processes.terminate()
    }
  }

  /** The prompt after a turn; undefined when the session is completed. */
  async #nextPrompt(): Promise<SessionPrompt | undefined> {
    for (let each = this.#pending.sideQuestions.shift(); each; each = this.#pending.sideQuestions.shift())
      await this.#answerSideQuestion(each)
    if (!this.#pending.handoff) return this.#takeMessageOrEnd()
    const settings = await readContextRelay(this.#dependencies.db)
    await this.#turn({ text: handoffRequest(settings), attachments: [] }, true)
    return this.late.endSession(() => this.#record.handOff(this.#lastMessage.text(), settings))
  }

  async #takeMessageOrEnd(): Promise<SessionPrompt | undefined> {
    if (!(await hasWaitingMessage(this.#dependencies.db, this.id))) await this.#runAfter()
    return this.late.endSession(() =>
      this.#record.takeMessageOrEnd(this.#lastMessage.text(), () => this.questions.listOpen()),
    )
  }

  /** Runs the project's command after the agent's work. Commits of the command belong to the work. */
  async #runAfter(): Promise<void> {
    await this.#commands.after()
    await this.#state.transcript?.flush()
    await this.#sandbox.takeCommits()
  }

  async #answerSideQuestion({ text, resolve, reject }: SideQuestion): Promise<void> {
    try {
      await this.#turn({ text, attachments: [] })
      resolve(this.#lastMessage.text())
    } catch (error) {
      reject(error)
      throw error
    }
  }

  async #fail(cause: unknown): Promise<void> {
    const error = this.#limits?.explain(cause, this.#state.link?.stderrTail()) ?? cause
    if (this.#stopped.signal.aborted || error instanceof RunStopped) return
    const { log } = this.#dependencies
    const ending = endingOf(error)
    if (error instanceof AgentFailure || error instanceof CancelledByAgent)
      log('info', 'An agent did not complete its session.', { sessionId: this.id, reason: ending.statusReason })
    else logFailure(log, 'A session failed.', error, { sessionId: this.id })
    await this.#runAfter().catch(() => {
      /* The ending is written anyway. */
    })
    const limitEndsAt = limitEndOf(error, this.#state.link, this.#dependencies.config.clock())
    await this.#record.fail(
      ending,
      limitEndsAt === undefined ? undefined : { limitEndsAt, progressed: this.#progressed },
    )
  }

  /** Any phase but turn → closing. */
  async #close(): Promise<void> {
    const { transcript, link } = this.#state
    this.#enter({ phase: 'closing', transcript, link })
    this.questions.close()
    for (const { reject } of this.#pending.sideQuestions.splice(0)) reject(new RunStopped())
    await this.late.receive(link, this.#record.usage, this.#stopped.signal)
    this.#limits?.stop()
    link?.close()
    await this.#processes
      .terminate()
      .catch(cause => this.#logError('The processes of a session could not be stopped.', cause))
    await this.#record.usage.close()
    await this.#prepared?.close()
    await this.#sandbox.takeCommits()
    await this.#sandbox.note()
    // Both fail if the session was deleted or the server stops.
    await transcript?.finishMessages().catch(() => {})
    await this.#record.writeAftermath(() => this.#lastMessage.text()).catch(() => {})
  }

  async #stop(): Promise<void> {
    this.#stopped.abort()
    this.questions.close()
    const { link } = this.#state
    await link?.cancel().catch(() => {
      /* The process is ended anyway. */
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
    return createRunListener({
      silence: this.#silence,
      usage: this.#record.usage,
      lastMessage: this.#lastMessage,
      context: this.#context,
      questions: this.questions,
      transcript,
      onTool: () => void (this.#progressed = true),
      onFullContext: () => this.requestHandoff(),
    })
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
