import { setTimeout as delay } from 'node:timers/promises'
import type { Supervisor } from '../agents/sessions/agentSupervisor.ts'
import { toSummary } from '../agents/transcript/lastMessage.ts'
import { readPlainTranscript } from '../agents/transcript/plainTranscript.ts'
import { compareWork } from '../cardWork/changes.ts'
import { textOfTrees } from '../cardWork/repositoryWork.ts'
import { Problem } from '../contract/errors.ts'
import { beginReview } from '../domain/agents/reviewSessions.ts'
import { end } from '../domain/agents/sessions.ts'
import { readSession, type SessionRow } from '../store/agents/sessions.ts'
import { updateProof } from '../store/cards/proofs.ts'
import type { Database } from '../store/engine/database.ts'
import { readReviewOfSession } from '../store/forges/reviews.ts'
import type { Worktrees } from '../worktrees/worktrees.ts'
import { reviewPrompt } from './reviewPrompt.ts'
import type { CheckPlan, CheckResult } from './planCheck.ts'

const pollMs = 250
const minuteMs = 60_000

interface ReviewDependencies {
  db: Database
  supervisor: Supervisor
  worktrees: Worktrees
}

/** The review of a card's files by a gate's agent: a side session of the card, in a read-only sandbox. */
export class ReviewRun {
  readonly #dependencies: ReviewDependencies
  readonly #plan: CheckPlan
  readonly #proofId: number
  #sessionId: number | undefined
  #stopReason: string | undefined

  constructor(dependencies: ReviewDependencies, plan: CheckPlan, proofId: number) {
    this.#dependencies = dependencies
    this.#plan = plan
    this.#proofId = proofId
  }

  /** The end of the reviewer's transcript. */
  async output(): Promise<{ output: string; outputStart: number }> {
    if (this.#sessionId === undefined) return { output: '', outputStart: 0 }
    return readPlainTranscript(this.#dependencies.db, { id: this.#sessionId, cardId: this.#plan.card.id })
  }

  /** Ends the session. The first reason becomes the summary. */
  stop(reason: string): void {
    this.#stopReason ??= reason
  }

  /** Runs the review to its end. */
  async run(): Promise<CheckResult> {
    try {
      return await this.#review()
    } catch (error) {
      if (error instanceof Problem && error.status < 500) return failed(error.message)
      throw error
    }
  }

  async #review(): Promise<CheckResult> {
    const session = await this.#untilEnded(await this.#begin())
    if (this.#stopReason !== undefined) return failed(this.#stopReason)
    const review = session && (await readReviewOfSession(this.#dependencies.db, session.id))
    if (!review) return failed(`The reviewer has not submitted a review.${whyNot(session)}`)
    if (review.trees !== textOfTrees(this.#plan.trees)) return failed('The files changed during the review.')
    const summary = `${review.verdict === 'approve' ? 'Approved' : 'Requests changes'}: ${toSummary(review.body)}`
    return { status: review.verdict === 'approve' ? 'passed' : 'failed', exitCode: null, summary }
  }

  async #begin(): Promise<number> {
    const { db, supervisor, worktrees } = this.#dependencies
    const { card, project, gate } = this.#plan
    const comparison = await compareWork(worktrees, card, project)
    const prompt = reviewPrompt(card, { base: comparison?.baseCommit ?? null, prompt: gate.prompt ?? '' })
    await supervisor.refresh()
    return (this.#sessionId = await db.transaction(async tx => {
      const { id } = await beginReview(tx, supervisor, card, gate, prompt)
      updateProof(tx, this.#proofId, { sessionId: id })
      return id
    }))
  }

  /** Waits until the session has ended. A session that is stopped, or exceeds the time limit, is cancelled. */
  async #untilEnded(id: number): Promise<SessionRow | undefined> {
    const { db, supervisor } = this.#dependencies
    for (;;) {
      const session = await readSession(db, id)
      if (!session || session.endedAt !== null) return session
      this.#stopIfLate(session)
      if (this.#stopReason !== undefined) {
        const detail = this.#stopReason
        await db.transaction(tx => end(tx, supervisor, id, { status: 'cancelled', statusReason: 'cancelled', detail }))
      } else await delay(pollMs, undefined, { ref: false })
    }
  }

  #stopIfLate({ startedAt }: SessionRow): void {
    const { minutes } = this.#plan.gate
    if (startedAt !== null && minutes !== null && Date.now() - Date.parse(startedAt) > minutes * minuteMs)
      this.stop(`The review took longer than ${minutes === 1 ? 'one minute' : `${minutes} minutes`}.`)
  }
}

const failed = (summary: string): CheckResult => ({ status: 'error', exitCode: null, summary })

const whyNot = (session: SessionRow | undefined): string => {
  const why = session?.detail ?? session?.summary
  return why ? ` ${toSummary(why)}` : ''
}
