import { Problem } from '../../../contract/errors.ts'
import type { Transaction } from '../../../store/engine/database.ts'
import type { SessionPurpose, SessionRow } from '../../../store/agents/sessions.ts'
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

/** How many questions of a session's `ask_person` can be open. */
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
 * The questions of a run: permission requests, which the project's policy or a person answers, questions of its tool, which only a person
 * answers, and the one with which a turn ends. They are written to the session's row.
 */
export class RunQuestions {
  readonly #open = createOpenQuestions()
  readonly #ofTool = new Map<string, ToolQuestion>()
  /** Answers that came in the turn while no call waited, by the keys of their questions. */
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

  /** A turn that ends with a question and has changed nothing asks people. */
  async endTurn(lastMessage: string): Promise<void> {
    const text = this.#isWork ? closingQuestion(lastMessage) : undefined
    if (text !== undefined && !(await this.#changes.haveHappened())) this.#closing = personQuestion(text)
  }

  /**
   * Asks people on behalf of the agent's tool, and waits for the answer. The answer is undefined after the time: the question stays open,
   * and its answer becomes the agent's next message. A call with the same words waits for the same question, or returns its answer.
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

  /** Ends the waiting of the tool's calls, as if their time were over. */
  release(): void {
    for (const { calls } of this.#ofTool.values()) {
      for (const { resolve } of calls) resolve(undefined)
      calls.clear()
    }
  }

  /** The run is over. */
  close(): void {
    this.#isOver = true
    this.release()
  }

  /** Answers a request, and resolves once that is written. False when it is not open any more. */
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
    const [over, time] = [new AbortController(), AbortSignal.timeout(timeoutMs)]
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
          { signal: over.signal },
        )
      })
    } finally {
      over.abort()
      this.#write()
    }
  }

  /** Gives an answer to the calls that wait for it, else to the agent as its next message. */
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
    // Without a write the session has ended its turn, and the answer becomes a message.
    for (const { resolve } of waiting) resolve(isWritten ? words : undefined)
    this.#write()
    await this.#record.untilWritten()
    return isWritten
  }

  /** The answer to a question that waits to become a message, which then does not. Undefined if none does. */
  async #takeQueued(key: string): Promise<PersonAnswer | undefined> {
    const queued = this.#queued.get(key)
    if (!queued || !this.#queued.delete(key)) return undefined
    let isTaken = false
    await this.#writeIfOpen(async tx => {
      isTaken = await deleteWaitingMessage(tx, this.#record.id, queued.messageId)
    })
    return isTaken ? queued.words : undefined
  }

  /** Adds the answer to a question to the transcript. The comment becomes the agent's next message. False once the turn has ended. */
  async #recordAnswer(request: PermissionRequest, answer: ChosenAnswer, comment: string): Promise<boolean> {
    const isQuestion = request.about === 'question'
    if (!isQuestion && comment === '') return true
    return this.#writeIfOpen(async (tx, row) => {
      const message = messageOfAnswer(request.title, wordsOf(request, answer, ''))
      if (isQuestion) await addMessage(tx, transcriptOf(row), 'user', message)
      if (comment !== '') await queueMessage(tx, row, comment)
    })
  }

  /** Writes unless the turn has ended. Returns whether it did. */
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

  /** How many questions keep the agent from its work: all but those of its tool for which no call waits. */
  #countBlocking(): number {
    return this.open().filter(({ id }) => this.#ofTool.get(id)?.calls.size !== 0).length
  }

  /** Writes the open requests after the transcript: a client then finds there the tool call that a request is about. */
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
