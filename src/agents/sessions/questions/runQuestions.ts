import { Problem } from '../../../contract/errors.ts'
import type { Transaction } from '../../../store/engine/database.ts'
import type { SessionRow } from '../../../store/agents/sessions.ts'
import type { SessionPurpose } from '../../../store/agents/sessionPurposes.ts'
import type { PermissionRequest, RawUpdate } from '../../link/agentLink.ts'
import { deleteWaitingMessage } from '../../../store/agents/waitingMessages.ts'
import { closingQuestion } from '../../transcript/closingQuestion.ts'
import { createOpenQuestions, type ChosenAnswer } from './openQuestions.ts'
import { messageOfAnswer, personQuestion, wordsOf, type PersonAnswer } from './personQuestions.ts'
import { queueMessage } from '../queue/queuedMessages.ts'
import { RunStopped } from '../sessionEndings.ts'
import { addMessage, transcriptOf } from '../../transcript/transcriptWriter.ts'
import { answerByPolicy } from './applyApprovalPolicy.ts'
import type { RunDependencies } from '../runDependencies.ts'
import type { RunState } from '../runState.ts'
import type { SessionRecord } from '../sessionRecord.ts'
import type { SilenceWatch } from '../watch/silenceWatch.ts'
import { TurnChanges } from '../turnChanges.ts'

/** The maximum number of open questions from the tool `ask_person`. */
const maxAsked = 5

/** A question of the tool `ask_person`, with the calls that wait for its answer. */
interface ToolQuestion {
  request: PermissionRequest
  key: string
  calls: Set<Call>
}
interface Call {
  signal: AbortSignal
  resolve(answer: PersonAnswer | undefined): void
}

/**
 * The questions of a run: permission requests, which the project's policy or a user answers, questions of the tool `ask_person`,
 * which only users answer, and the question with which a turn ends. The open questions are written to the session's row.
 */
export class RunQuestions {
  readonly #open = createOpenQuestions()
  readonly #ofTool = new Map<string, ToolQuestion>()
  /** Answers that arrived in the turn while no call waited, by the key of the question. */
  readonly #queued = new Map<string, { messageId: number; words: PersonAnswer }>()
  readonly #changes: TurnChanges
  #closing: PermissionRequest | undefined
  #isOver = false
  readonly #dependencies: RunDependencies
  readonly #record: SessionRecord
  readonly #silence: SilenceWatch
  readonly #state: () => RunState
  readonly #isWork: boolean

  constructor(
    dependencies: RunDependencies,
    record: SessionRecord,
    silence: SilenceWatch,
    state: () => RunState,
    purpose: SessionPurpose,
  ) {
    this.#dependencies = dependencies
    this.#record = record
    this.#silence = silence
    this.#state = state
    this.#isWork = purpose === 'work'
    this.#changes = new TurnChanges(dependencies, record.id)
  }

  /** The open requests, oldest first. */
  open(): PermissionRequest[] {
    return this.#open.open()
  }

  /** The questions that the end of a turn leaves to people, oldest first. */
  listOpen(): PermissionRequest[] {
    return [...[...this.#ofTool.values()].map(({ request }) => request), ...(this.#closing ? [this.#closing] : [])]
  }

  /** Prepares the first turn while the agent starts. */
  prepareTurn(): void {
    if (this.#isWork) this.#changes.readEarly()
  }

  async beginTurn(): Promise<void> {
    this.#closing = undefined
    this.#queued.clear()
    if (this.#isWork) await this.#changes.begin()
  }

  update(update: RawUpdate): void {
    this.#changes.add(update)
  }

  /** If the turn ends with a question and has changed nothing, asks users that question. */
  async endTurn(lastMessage: string): Promise<void> {
    const text = this.#isWork ? closingQuestion(lastMessage) : undefined
    if (text !== undefined && !(await this.#changes.haveHappened())) this.#closing = personQuestion(text)
  }

  /**
   * Asks users on behalf of the agent's tool, and waits for the answer. After the timeout, returns undefined: the question stays
   * open, and its answer becomes the agent's next message. A call with the same text waits for the same question, or returns its
   * answer.
   * @throws Problem CONFLICT if too many questions are open, or the session has ended
   */
  async ask(
    text: string,
    options: readonly string[],
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<PersonAnswer | undefined> {
    const key = JSON.stringify([text, options])
    const answered = await this.#takeQueued(key)
    if (answered) return answered
    if (this.#isOver) throw new Problem('CONFLICT', 'The session has ended.')
    let asked = [...this.#ofTool.values()].find(each => each.key === key)
    if (!asked) {
      if (this.#ofTool.size >= maxAsked)
        throw new Problem('CONFLICT', `At most ${maxAsked} questions can be open. Wait for their answers.`)
      const request = personQuestion(text, options)
      asked = { request, key, calls: new Set() }
      this.#ofTool.set(request.id, asked)
      void this.#open.add(request, async () => false).then(() => this.#write())
    }
    return signal.aborted ? undefined : this.#untilAnswered(asked, timeoutMs, signal)
  }

  /** Ends all waiting calls of the tool, as if their timeouts had expired. */
  release(): void {
    for (const { calls } of this.#ofTool.values()) {
      for (const { resolve } of calls) resolve(undefined)
      calls.clear()
    }
  }

  /** Ends all waiting calls of the tool, because the run is finished. Later calls are rejected. */
  close(): void {
    this.#isOver = true
    this.release()
  }

  /** Answers a question, and resolves when the answer is written. Returns false if the question is no longer open. */
  async answer(id: string, answer: ChosenAnswer, comment: string): Promise<boolean> {
    const asked = this.#ofTool.get(id)
    if (asked) return this.#answerTool(asked, wordsOf(asked.request, answer, comment))
    const { link } = this.#state()
    const request = this.open().find(each => each.id === id)
    if (!link || !request || !(await this.#recordAnswer(request, answer, comment))) return false
    if (!this.#open.answer(link, id, answer)) return false
    this.#write()
    await this.#record.untilWritten()
    return true
  }

  add(request: PermissionRequest): void {
    void this.#open.add(request, () => this.#answerByPolicy(request)).then(() => this.#write())
  }

  remove(id: string): void {
    this.#open.remove(id)
    this.#write()
  }

  async #untilAnswered(asked: ToolQuestion, timeoutMs: number, signal: AbortSignal): Promise<PersonAnswer | undefined> {
    const [finished, time] = [new AbortController(), AbortSignal.timeout(timeoutMs)]
    try {
      return await new Promise(resolve => {
        const call = { signal, resolve }
        asked.calls.add(call)
        this.#write()
        AbortSignal.any([signal, time]).addEventListener(
          'abort',
          () => {
            if (asked.calls.delete(call)) resolve(undefined)
          },
          { signal: finished.signal },
        )
      })
    } finally {
      finished.abort()
      this.#write()
    }
  }

  /** Passes the answer to the calls that wait for it. If no call waits, the answer becomes the agent's next message. */
  async #answerTool({ request, key, calls }: ToolQuestion, words: PersonAnswer): Promise<boolean> {
    if (!this.#ofTool.delete(request.id)) return false
    const waiting = [...calls].filter(({ signal }) => !signal.aborted)
    calls.clear()
    const message = messageOfAnswer(request.title, words)
    const isWritten = await this.#writeIfOpen(async (tx, row) => {
      const isAwaited = waiting.some(({ signal }) => !signal.aborted)
      if (isAwaited) await addMessage(tx, transcriptOf(row), 'user', message)
      else this.#queued.set(key, { words, messageId: Number((await queueMessage(tx, row, message)).id) })
    })
    this.#open.remove(request.id)
    // If nothing was written, the turn has ended, and the caller sends the answer as a message.
    for (const { resolve } of waiting) resolve(isWritten ? words : undefined)
    this.#write()
    await this.#record.untilWritten()
    return isWritten
  }

  /** Returns the queued answer to a question and removes it from the queue. Undefined if there is none. */
  async #takeQueued(key: string): Promise<PersonAnswer | undefined> {
    const queued = this.#queued.get(key)
    if (!queued || !this.#queued.delete(key)) return undefined
    let isTaken = false
    await this.#writeIfOpen(async tx => {
      isTaken = await deleteWaitingMessage(tx, this.#record.id, queued.messageId)
    })
    return isTaken ? queued.words : undefined
  }

  /** Adds the answer to the transcript, and queues the comment as a message. Returns false if the turn has ended. */
  async #recordAnswer(request: PermissionRequest, answer: ChosenAnswer, comment: string): Promise<boolean> {
    const isQuestion = request.about === 'question'
    if (!isQuestion && comment === '') return true
    return this.#writeIfOpen(async (tx, row) => {
      const message = messageOfAnswer(request.title, wordsOf(request, answer, ''))
      if (isQuestion) await addMessage(tx, transcriptOf(row), 'user', message)
      if (comment !== '') await queueMessage(tx, row, comment)
    })
  }

  /** Writes, unless the turn has ended. Returns whether it has written. */
  async #writeIfOpen(work: (tx: Transaction, row: SessionRow) => Promise<void>): Promise<boolean> {
    try {
      await this.#record.writeInOrder(work)
      return true
    } catch (error) {
      if (error instanceof RunStopped) return false
      throw error
    }
  }

  async #answerByPolicy(request: PermissionRequest): Promise<boolean> {
    try {
      const answered = await answerByPolicy(this.#dependencies.db, this.#record, request, this.#settleTranscript)
      return answered !== undefined && this.#state().link?.answerPermission(request.id, answered) === true
    } catch (cause) {
      if (!this.#record.isStopped()) this.#logError("A project's policy could not be applied.", cause)
      return false
    }
  }

  readonly #settleTranscript = async () => {
    await this.#state()
      .transcript?.finishMessages()
      .catch(() => {})
  }

  /** The number of questions that block the agent: all except questions of its tool for which no call waits. */
  #countBlocking(): number {
    return this.open().filter(({ id }) => this.#ofTool.get(id)?.calls.size !== 0).length
  }

  /** Writes the open questions after the transcript, so that clients find the tool call that a question refers to. */
  #write(): void {
    this.#silence.setQuestions(this.#countBlocking())
    void this.#record
      .writeQuestions(
        this.#settleTranscript,
        () => this.open(),
        () => this.#countBlocking() > 0,
      )
      .catch(cause => this.#logError('The questions of an agent could not be written.', cause))
  }

  #logError(message: string, cause: unknown): void {
    this.#dependencies.log('error', message, { sessionId: this.#record.id, cause: String(cause) })
  }
}
