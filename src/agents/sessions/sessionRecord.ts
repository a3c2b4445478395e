import type { SessionSandbox } from '../../contract/agents/sandbox.ts'
import type { OnSilence } from '../../contract/agents/silence.ts'
import { setTimeout as delay } from 'node:timers/promises'
import { createSerialQueue } from '../../async/serialQueue.ts'
import { holdForCard } from '../../domain/agents/blockedSessions.ts'
import { holdBack } from '../../domain/agents/budgetPauses.ts'
import { checkFiles } from '../../cardWork/mergeChecks.ts'
import { countChangedFiles } from '../../cardWork/repositoryWork.ts'
import { end, markRunning, markWaiting, type Ending } from '../../domain/agents/sessions.ts'
import { waitsWithoutRun } from '../../domain/agents/sessionStates.ts'
import { awaitAnswer, listQuestions, noteModelWait } from '../../domain/agents/sessionWaits.ts'
import { appendAgentEvent } from '../../events/agentEvent.ts'
import type { Transaction } from '../../store/engine/database.ts'
import { readOnSilence } from '../../store/projects/projects.ts'
import { writeWithRetry } from '../../store/engine/retry.ts'
import { readSession, updateSession, type SessionRow } from '../../store/agents/sessions.ts'
import { insertWaitingMessage, takeWaitingMessage, type WaitingMessage } from '../../store/agents/waitingMessages.ts'
import { permission, question } from '../../views/agents.ts'
import type { AgentLink, PermissionRequest, StartedSession } from '../link/agentLink.ts'
import { toSummary } from '../transcript/lastMessage.ts'
import { addMessage, transcriptOf } from '../transcript/transcriptWriter.ts'
import { advancePipeline } from './advancePipeline.ts'
import { continueAfterLimit, type ReachedLimit } from './queue/continueAfterLimit.ts'
import { completeWithHandoff, type HandoffSettings } from './prompts/handoff.ts'
import { saveAgentOffers } from './open/saveAgentOffers.ts'
import { parseRefinedPrompt } from './prompts/refinedPrompt.ts'
import { newConversationRemark } from './open/resumeOrStart.ts'
import { readSessionWork } from './sessionWork.ts'
import { endOrAwaitAnswer } from './endOrAwaitAnswer.ts'
import { firstTurnPrompt, givenOf } from './prompts/firstTurnPrompt.ts'
import type { SessionPrompt } from './prompts/promptFiles.ts'
import type { RunDependencies } from './runDependencies.ts'
import { RunStopped } from './sessionEndings.ts'
import { describeWait, type AgentWait } from './queue/agentWait.ts'
import { UsageMeter } from './watch/usageMeter.ts'

const countFilesTimeoutMs = 3000

/** A session after its agent has opened it. `remarks` are messages for the transcript of a new session. */
interface OpenedSession {
  link: Pick<AgentLink, 'capabilities' | 'info'>
  started: StartedSession
  isFirst: boolean
  remarks: ReadonlyArray<string | null>
  about: string
}

/**
 * The database rows of one session, as its run writes them. A write waits for the writes before it, is retried while the database is
 * busy or the disk is full, and does nothing once the session was ended from outside.
 */
export class SessionRecord {
  readonly id: number
  readonly usage: UsageMeter
  readonly #dependencies: RunDependencies
  readonly #stopped: AbortSignal
  /** The permission requests whose events are committed. */
  readonly #announced = new Set<string>()
  /** The user messages in the latest prompt. A turn that reached a usage limit has not answered them. */
  #taken: readonly WaitingMessage[] = []
  readonly #queue = createSerialQueue()

  constructor(dependencies: RunDependencies, id: number, stopped: AbortSignal) {
    this.#dependencies = dependencies
    this.id = id
    this.usage = new UsageMeter(dependencies, id)
    this.#stopped = stopped
  }

  /** Whether the session was ended from outside. */
  isStopped(): boolean {
    return this.#stopped.aborted
  }

  /**
   * Changes the queued session to running. `isFirst`: the session has no earlier run.
   * @throws RunStopped if the session has ended, or waits for a blocking card or for a budget
   */
  async begin(): Promise<{ session: SessionRow; isFirst: boolean }> {
    const { session, isFirst } = await this.#write(async tx => {
      const before = this.#stopped.aborted ? undefined : await readSession(tx, this.id)
      const isHeld =
        before?.status === 'queued' &&
        ((await holdForCard(tx, before)) || (await holdBack(tx, this.#dependencies.agents, before)))
      const session = before && !isHeld ? await markRunning(tx, this.id) : undefined
      if (session) await this.usage.begin(tx, before!)
      return { session, isFirst: before?.startedAt === null }
    })
    if (!session) throw new RunStopped()
    return { session, isFirst }
  }

  /** The session's row while the run can write it. @throws RunStopped if the session was ended, even if it was queued again */
  async requireOwnRow(tx: Transaction): Promise<SessionRow> {
    const row = await this.#ownRow(tx)
    if (!row) throw new RunStopped()
    return row
  }

  /** Records that the agent has opened its session. Returns the first prompt. @throws RunStopped */
  open(session: SessionRow, opened: OpenedSession): Promise<SessionPrompt> {
    const { link, started, isFirst, remarks, about } = opened
    const { sessionId, model, mode, effort, resumed } = started
    return this.#write(async tx => {
      await this.requireOwnRow(tx)
      await updateSession(tx, this.id, {
        agentSessionId: sessionId,
        resumable: link.capabilities.resume && sessionId !== null,
        mode,
        effort,
        ...(model !== null && { model }),
      })
      await this.usage.recordOpened(tx, started)
      await saveAgentOffers(tx, session, started, link.info.version)
      const anew = !resumed && session.resumable === 1 ? newConversationRemark(started) : null
      for (const text of isFirst ? [session.detail, ...remarks] : [anew])
        if (text) await addMessage(tx, transcriptOf(session), 'system', text)
      const { prompt, taken } = await firstTurnPrompt(tx, session, { resumed, isFirst, about })
      tx.afterCommit(() => {
        this.#taken = taken
      })
      return prompt
    })
  }

  /** Records that a turn has succeeded, so that the messages in its prompt count as answered. */
  messagesAnswered(): void {
    this.#taken = []
  }

  /** Writes the questions that wait for a user. `before` runs first, in the same turn of the queue. */
  async writeQuestions(
    before: () => Promise<void>,
    open: () => readonly PermissionRequest[],
    isBlocked: () => boolean,
  ): Promise<void> {
    await this.#queue(async () => {
      await before()
      if (!this.#stopped.aborted) await this.#write(tx => this.#writeQuestions(tx, open(), isBlocked()))
    })
  }

  /** Writes after the writes before it. @throws RunStopped */
  writeInOrder<T>(work: (tx: Transaction, row: SessionRow) => Promise<T>): Promise<T> {
    return this.#queue(() => this.#write(async tx => work(tx, await this.requireOwnRow(tx))))
  }

  /** Records that the agent waits. The caller does not wait for the write. */
  noteWait({ lifeless, ...wait }: AgentWait): void {
    this.usage.setLifeless(lifeless !== null)
    const write = async (tx: Transaction) => {
      const row = await this.#ownRow(tx)
      if (row)
        await noteModelWait(tx, row, { ...wait, isLifeless: lifeless !== null }, describeWait({ ...wait, lifeless }))
    }
    void this.#queue(() => this.#write(write)).catch(() => {
      /* The session was deleted, or the server stops. */
    })
  }

  /** The project's setting for an agent that shows no sign of life. */
  onSilence(): Promise<OnSilence> {
    return readOnSilence(this.#dependencies.db, this.id)
  }

  /** Adds a message from the board to the transcript, after the writes of `before`. @throws RunStopped */
  async note(text: string, before: () => Promise<void>): Promise<void> {
    await this.#queue(async () => {
      await before()
      await this.#write(async tx => addMessage(tx, transcriptOf(await this.requireOwnRow(tx)), 'system', text))
    })
  }

  /** Records the sandbox of the agent. */
  async noteSandbox(sandbox: SessionSandbox): Promise<void> {
    await this.#write(tx => updateSession(tx, this.id, { sandbox: JSON.stringify(sandbox) }))
  }

  /** Resolves when all requested writes are done. */
  async untilWritten(): Promise<void> {
    await this.#queue(async () => {})
  }

  /**
   * The next message for the agent. Without a message, the session waits for an answer to its open questions, or is completed.
   * @throws RunStopped
   */
  async takeMessageOrEnd(
    lastMessage: string,
    unanswered: () => readonly PermissionRequest[],
  ): Promise<SessionPrompt | undefined> {
    const filesChanged = await this.#countFiles()
    return this.writeInOrder(async (tx, row) => {
      const waiting = await takeWaitingMessage(tx, this.id)
      tx.afterCommit(() => {
        this.#taken = waiting ? [waiting] : []
      })
      if (waiting) return { text: waiting.content, attachments: givenOf([waiting]) }
      const { agents } = this.#dependencies
      const text = row.purpose === 'pre' ? parseRefinedPrompt(lastMessage) : toSummary(lastMessage)
      const results = { summary: text || row.summary, filesChanged }
      const asked = unanswered()
      const [oldest, ...others] = asked
      if (oldest) {
        await this.#announceQuestions(tx, row, asked)
        await awaitAnswer(tx, agents, row, [question(oldest), ...others.map(question)], results)
        return undefined
      }
      await end(tx, agents, row.id, { status: 'completed', ...results }, true)
      if (row.purpose === 'work') await advancePipeline(tx, agents, row.projectId, row.cardId)
      return undefined
    })
  }

  /** Completes the session and starts its successor. @throws RunStopped */
  handOff(handoff: string, settings: HandoffSettings): Promise<undefined> {
    return this.writeInOrder(async (tx, row) => {
      if (!(await completeWithHandoff(tx, this.#dependencies.agents, row, handoff, settings))) throw new RunStopped()
      return undefined
    })
  }

  /**
   * Ends the session with the failure of its run. The session can continue instead, with the answer to a question or after a
   * usage limit.
   */
  async fail(ending: Ending, limit?: ReachedLimit): Promise<void> {
    await this.#queue(() =>
      this.#write(async tx => {
        const row = await this.#ownRow(tx)
        if (!row) return
        if (ending.detail) await addMessage(tx, transcriptOf(row), 'system', ending.detail)
        if (limit) {
          for (const { content, messageId } of this.#taken)
            await insertWaitingMessage(tx, { sessionId: row.id, content, messageId })
          if (listQuestions(row).length === 0 && (await continueAfterLimit(tx, this.#dependencies, row, limit))) return
        }
        await endOrAwaitAnswer(tx, this.#dependencies.agents, row, ending)
      }),
    )
  }

  /** After the end of a session that did not complete, writes the agent's last message and the number of changed files. */
  async writeAftermath(lastMessage: () => string): Promise<void> {
    const { db } = this.#dependencies
    const before = await readSession(db, this.id)
    if (!before || before.purpose === 'pre' || (before.status !== 'cancelled' && before.status !== 'failed')) return
    const filesChanged = await this.#countFiles()
    await db.transaction(async tx => {
      const row = await readSession(tx, this.id)
      if (row && row.endedAt !== null)
        await updateSession(tx, this.id, { filesChanged, summary: row.summary ?? (toSummary(lastMessage()) || null) })
    })
  }

  async #ownRow(tx: Transaction): Promise<SessionRow | undefined> {
    const row = this.#stopped.aborted ? undefined : await readSession(tx, this.id)
    return row && row.endedAt === null && row.status !== 'queued' && !waitsWithoutRun(row) ? row : undefined
  }

  async #writeQuestions(tx: Transaction, open: readonly PermissionRequest[], isBlocked: boolean): Promise<void> {
    const row = await this.#ownRow(tx)
    if (!row) return
    const [oldest] = open
    this.usage.setWorking(!isBlocked)
    if (!oldest) {
      if (row.waitingFor !== null) await markRunning(tx, this.id)
      return
    }
    const waitingFor = JSON.stringify(open.map(question))
    if (row.waitingFor !== waitingFor) await markWaiting(tx, this.id, waitingFor, oldest.title)
    await this.#announceQuestions(tx, row, open)
  }

  async #announceQuestions(tx: Transaction, row: SessionRow, open: readonly PermissionRequest[]): Promise<void> {
    for (const request of open.filter(({ id }) => !this.#announced.has(id))) {
      await appendAgentEvent(tx, 'agent.permission', row, permission(row, request))
      tx.afterCommit(() => this.#announced.add(request.id))
    }
  }

  /**
   * Counts the files that the card has changed. A slow count does not delay the end of the session: the method returns the last known
   * number, and the session gets the count later.
   */
  async #countFiles(): Promise<number> {
    const { db, worktrees } = this.#dependencies
    const work = await readSessionWork(db, this.id)
    if (!work || work.session.branch === null) return 0
    const { session, card, project } = work
    const counted = countChangedFiles(worktrees, db, card, project, (repository, comparison) =>
      checkFiles(db, card, repository, comparison),
    ).catch(() => session.filesChanged)
    const inTime = await Promise.race([counted, delay(countFilesTimeoutMs, undefined, { ref: false })])
    if (inTime !== undefined) return inTime
    // The caller queues its write of the known number in this turn of the event loop, before the count can arrive.
    void counted
      .then(filesChanged => this.#queue(() => this.#write(tx => updateSession(tx, this.id, { filesChanged }))))
      .catch(() => {}) // The server stops. Nothing but this number is lost.
    return session.filesChanged
  }

  /** @throws Problem SHUTTING_DOWN */
  #write<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    const { db, log } = this.#dependencies
    return writeWithRetry(db, work, code =>
      log('warn', 'The state of a session could not be written; retrying.', { sessionId: this.id, code }),
    )
  }
}
