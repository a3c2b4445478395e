import type { PermissionRequest } from '../link/agentLink.ts'
import { createOpenQuestions, type ChosenAnswer } from './openQuestions.ts'
import { answerByPolicy } from './policyAnswers.ts'
import type { RunDependencies } from './runDependencies.ts'
import type { RunState } from './runState.ts'
import type { SessionRecord } from './sessionRecord.ts'
import type { SilenceWatch } from './silenceWatch.ts'

/** The permission requests of a run: answered by the project's policy or a person, and written to the session's row. */
export class RunQuestions {
  readonly #open = createOpenQuestions()
  readonly #dependencies: RunDependencies
  readonly #record: SessionRecord
  readonly #silence: SilenceWatch
  readonly #state: () => RunState

  constructor(dependencies: RunDependencies, record: SessionRecord, silence: SilenceWatch, state: () => RunState) {
    this.#dependencies = dependencies
    this.#record = record
    this.#silence = silence
    this.#state = state
  }

  /** The open requests, oldest first. */
  open(): PermissionRequest[] {
    return this.#open.open()
  }

  /** Answers a request, and resolves once that is written. False when it is not open any more. */
  async answer(id: string, answer: ChosenAnswer): Promise<boolean> {
    const { link } = this.#state()
    if (!link || !this.#open.answer(link, id, answer)) return false
    this.#write()
    await this.#record.settle()
    return true
  }

  add(request: PermissionRequest): void {
    void this.#open.add(request, () => this.#answerByPolicy(request)).then(() => this.#write())
  }

  remove(id: string): void {
    this.#open.remove(id)
    this.#write()
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
      .transcript?.settle()
      .catch(() => {})
  }

  /** Writes the open requests after the transcript: a client then finds there the tool call that a request is about. */
  #write(): void {
    this.#silence.setQuestions(this.#open.open().length)
    void this.#record
      .writeQuestions(this.#settleTranscript, () => this.#open.open())
      .catch(cause => this.#logError('The questions of an agent could not be written.', cause))
  }

  #logError(message: string, cause: unknown): void {
    this.#dependencies.log('error', message, { sessionId: this.#record.id, cause: String(cause) })
  }
}
