import { createSerialQueue } from '../../../async/serialQueue.ts'
import { chargeUsage, hasBegun } from '../../../domain/agents/budgetPauses.ts'
import { appendAgentEvent } from '../../../events/agentEvent.ts'
import { addUsage as addCredentialUsage } from '../../../store/accounts/credentials.ts'
import type { Transaction } from '../../../store/engine/database.ts'
import { readProject } from '../../../store/projects/projects.ts'
import { writeWithRetry } from '../../../store/engine/retry.ts'
import { addSessionTokens, readSession, updateSession, type SessionRow } from '../../../store/agents/sessions.ts'
import {
  addToUsage,
  insertUsage,
  nameUsage,
  readRunEntry,
  type UsageDelta,
  type UsageEntry,
} from '../../../store/agents/usage.ts'
import { agentSession } from '../../../views/agents.ts'
import { parseUpdate } from '../../acp/parseUpdate.ts'
import { addUsage, usageOfUpdate, usageSince } from '../../acp/turnUsage.ts'
import type { RawUpdate, StartedSession, TurnUsage } from '../../link/agentLink.ts'
import type { RunDependencies } from '../runDependencies.ts'

/** How often running time is booked. A killed server loses at most this time. With a limit in hours, time is booked more often. */
const bookEveryMs = 10_000
const bookHoursEveryMs = 1000

/** The owner of the usage. */
type Entry = Pick<
  UsageEntry,
  'sessionId' | 'cardId' | 'projectId' | 'organizationId' | 'credentialId' | 'userId' | 'agent' | 'model'
>
/** The account of a run's usage: a row for each day. `first` is the row that counts the run. */
interface Account {
  entry: Entry
  id: number
  day: string
  first: number
}
/** The reported usage that is not booked yet. `costUsd` is the total cost of the agent's session. */
interface Reports {
  tokens: TurnUsage | null
  costUsd: number | null
}

/**
 * Books the usage of an agent's run on each report, and its running time by the monotonic clock: on the run's account, its session, its
 * credential and the budgets that limit it. Reports that arrive during a write are booked together. Reports after the session was ended
 * from outside also count.
 */
export class UsageMeter {
  readonly #dependencies: RunDependencies
  readonly #sessionId: number
  readonly #queue = createSerialQueue()
  #account: Account | undefined
  #reports: Reports = { tokens: null, costUsd: null }
  #isQueued = false
  /** The usage of the current turn that was reported while it ran. */
  #ofTurn: TurnUsage | null = null
  /** Since when the run has worked, by the monotonic clock; undefined while it waits. */
  #sinceMs: number | undefined
  #runningMs = 0
  #isAsking = false
  #isLifeless = false
  #hasHours = false
  #hasTokens = false
  #hasCost = false
  /** Whether this process has reported its cost. If it has, its tokens are not priced. */
  #reportsCost = false
  #timer: NodeJS.Timeout | undefined

  constructor(dependencies: RunDependencies, sessionId: number) {
    this.#dependencies = dependencies
    this.#sessionId = sessionId
  }

  /**
   * Counts a run in the transaction that changes its session to running. Its usage is unknown until the run reports it. A session
   * that continues after an automatic wait is in the same run.
   */
  async begin(tx: Transaction, session: SessionRow): Promise<void> {
    if (session.purpose === 'terminal') return
    const { id: sessionId, cardId, projectId, credentialId, starterId: userId, agent, model } = session
    const { organizationId = null } = (await readProject(tx, projectId)) ?? {}
    const entry = { sessionId, cardId, projectId, organizationId, credentialId, userId, agent, model }
    const counted = hasBegun(session).hasRun ? await readRunEntry(tx, entry) : undefined
    const delta = counted ? {} : newRun
    const day = dayOf(tx)
    const id = await insertUsage(tx, { ...entry, day, ...delta })
    const { hasHours } = await chargeUsage(tx, this.#dependencies.agents, entry, delta, sessionId)
    tx.afterCommit(() => {
      this.#account = { entry, id, day, first: counted?.id ?? id }
      this.#hasHours = hasHours
      this.#hasCost = counted?.costUnknown === 0
      this.#hasTokens = counted?.tokensUnknown === 0
      this.setWorking(true)
      this.#bookLater()
    })
  }

  /** Called when the agent has opened its session: its usage is known from then on. A session that is not resumed costs 0 so far. */
  async recordOpened(tx: Transaction, { model, resumed }: Pick<StartedSession, 'model' | 'resumed'>): Promise<void> {
    const account = this.#account
    if (!account) return
    const { entry: before, id } = account
    const credentialId = (await readSession(tx, this.#sessionId))?.credentialId ?? null
    const entry = { ...before, credentialId, model: model ?? before.model }
    nameUsage(tx, id, entry)
    if (!resumed) await updateSession(tx, this.#sessionId, { reportedUsd: null, estimatedUsd: 0 })
    if (credentialId !== before.credentialId && account.first === id) {
      const { agents } = this.#dependencies
      await chargeUsage(tx, agents, { ...nobody, credentialId: before.credentialId }, withdrawn, this.#sessionId)
      await chargeUsage(tx, agents, { ...nobody, credentialId }, newRun, this.#sessionId)
    }
    tx.afterCommit(() => {
      this.#account = { ...account, entry }
    })
  }

  /** Whether the agent works and does not wait for a user's answer. */
  setWorking(works: boolean): void {
    this.#isAsking = !works
    this.#keepTime()
  }

  /** Whether the agent shows no sign of life, and users are asked what to do. */
  setLifeless(isLifeless: boolean): void {
    this.#isLifeless = isLifeless
    this.#keepTime()
  }

  #keepTime(): void {
    const works = this.#account !== undefined && !this.#isAsking && !this.#isLifeless
    if (works === (this.#sinceMs !== undefined)) return
    this.#takeTime()
    this.#sinceMs = works ? performance.now() : undefined
  }

  /** Adds the usage in an update. */
  add(update: RawUpdate): void {
    const tokens = usageOfUpdate(update)
    const parsed = update.sessionUpdate === 'usage_update' ? parseUpdate(update) : undefined
    const costUsd = parsed?.kind === 'usage' ? parsed.costUsd : null
    if (!tokens && costUsd === null) return
    if (tokens) this.#ofTurn = addUsage(this.#ofTurn, tokens)
    this.#report({ tokens, costUsd })
  }

  beginTurn(): void {
    this.#ofTurn = null
  }

  /** Books the usage of a turn that was not reported while it ran. */
  async endTurn(usage: TurnUsage | null): Promise<void> {
    const rest = usage && usageSince(usage, this.#ofTurn)
    this.#ofTurn = null
    if (rest && rest.inputTokens + rest.outputTokens > 0) this.#report({ tokens: rest, costUsd: null })
    await this.untilBooked()
  }

  /** Resolves when all reported usage is booked. Never rejects. */
  async untilBooked(): Promise<void> {
    await this.#queue.idle()
  }

  /** Books the rest at the end of the run. */
  async close(): Promise<void> {
    clearTimeout(this.#timer)
    this.setWorking(false)
    if (this.#account) this.#queueBooking()
    await this.untilBooked()
    this.#account = undefined
  }

  #report({ tokens, costUsd }: Reports): void {
    this.#reports = { tokens: addUsage(this.#reports.tokens, tokens), costUsd: costUsd ?? this.#reports.costUsd }
    this.#queueBooking()
  }

  #queueBooking(): void {
    if (this.#isQueued) return
    this.#isQueued = true
    void this.#queue(() => {
      this.#isQueued = false
      return this.#book()
    }).catch((error: unknown) =>
      this.#dependencies.log('warn', 'The usage of an agent could not be recorded.', {
        sessionId: this.#sessionId,
        cause: String(error),
      }),
    )
  }

  #bookLater(): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(
      () => {
        if (this.#sinceMs !== undefined) this.#queueBooking()
        this.#bookLater()
      },
      this.#hasHours ? bookHoursEveryMs : bookEveryMs,
    ).unref()
  }

  #takeTime(): void {
    if (this.#sinceMs === undefined) return
    const now = performance.now()
    this.#runningMs += now - this.#sinceMs
    this.#sinceMs = now
  }

  async #book(): Promise<void> {
    const account = this.#account
    if (!account) return
    this.#takeTime()
    const [reports, runningMs] = [this.#reports, Math.round(this.#runningMs)]
    this.#reports = { tokens: null, costUsd: null }
    this.#runningMs -= runningMs
    if (!reports.tokens && reports.costUsd === null && runningMs === 0) return
    const { db } = this.#dependencies
    await writeWithRetry(
      db,
      tx => this.#write(tx, account, reports, runningMs),
      () => {},
    )
  }

  async #write(tx: Transaction, account: Account, { tokens, costUsd }: Reports, runningMs: number): Promise<void> {
    const { agents } = this.#dependencies
    const session = await readSession(tx, this.#sessionId)
    const cost = this.#costOf(account, session, tokens, costUsd)
    const delta: UsageDelta = {
      runningMs,
      inputTokens: tokens?.inputTokens,
      outputTokens: tokens?.outputTokens,
      costUsd: cost?.usd,
      estimatedUsd: cost?.estimatedUsd,
    }
    const known = {
      ...(cost && !this.#hasCost && { costUnknown: -1 }),
      ...(tokens && !this.#hasTokens && { tokensUnknown: -1 }),
    }
    const open = account.day === dayOf(tx) ? account : await this.#newDay(tx, account)
    addToUsage(tx, open.id, delta)
    addToUsage(tx, account.first, known)
    if (session && (tokens || cost)) await this.#writeSession(tx, session, tokens, cost)
    const { hasHours } = await chargeUsage(tx, agents, account.entry, { ...delta, ...known }, this.#sessionId)
    tx.afterCommit(() => {
      this.#account = this.#account && { ...this.#account, id: open.id, day: open.day }
      this.#hasHours = hasHours
      this.#hasCost ||= cost !== null
      this.#hasTokens ||= tokens !== null
      this.#reportsCost ||= costUsd !== null
    })
  }

  /** The cost that reports add: the agent's reported cost, or else the price of its tokens. Null if neither is known. */
  #costOf(account: Account, session: SessionRow | undefined, tokens: TurnUsage | null, reportedUsd: number | null) {
    const [before, open] = [session?.reportedUsd ?? 0, session?.estimatedUsd ?? 0]
    if (reportedUsd !== null) {
      // A process that starts below the reported sum counts from 0 again. Within one process, a sum that decreases was corrected.
      const since = reportedUsd >= before ? reportedUsd - before : this.#reportsCost ? 0 : reportedUsd
      const usd = Math.max(0, since - open)
      const total = this.#reportsCost ? Math.max(before, reportedUsd) : reportedUsd
      return { usd, estimatedUsd: -Math.min(open, since), reportedUsd: total, openUsd: Math.max(0, open - since) }
    }
    if (!tokens || this.#reportsCost) return null
    const usd = this.#dependencies.prices.costOf(account.entry.model, tokens)
    return usd === null
      ? null
      : { usd, estimatedUsd: usd, reportedUsd: session?.reportedUsd ?? null, openUsd: open + usd }
  }

  async #newDay(tx: Transaction, { entry }: Account): Promise<{ id: number; day: string }> {
    const day = dayOf(tx)
    return { id: await insertUsage(tx, { ...entry, day }), day }
  }

  async #writeSession(
    tx: Transaction,
    session: SessionRow,
    tokens: TurnUsage | null,
    cost: { usd: number; reportedUsd: number | null; openUsd: number } | null,
  ): Promise<void> {
    if (tokens) await addSessionTokens(tx, session.id, tokens)
    if (cost)
      await updateSession(tx, session.id, {
        costUsd: (session.costUsd ?? 0) + cost.usd,
        reportedUsd: cost.reportedUsd,
        estimatedUsd: cost.openUsd,
      })
    if (session.credentialId !== null)
      await addCredentialUsage(tx, session.credentialId, {
        day: dayOf(tx),
        sessions: session.inputTokens + session.outputTokens === 0 && tokens ? 1 : 0,
        inputTokens: tokens?.inputTokens ?? 0,
        outputTokens: tokens?.outputTokens ?? 0,
        costUsd: cost?.usd ?? 0,
      })
    await appendAgentEvent(tx, 'agent.usage', session, agentSession((await readSession(tx, session.id))!))
  }
}

const newRun = { runs: 1, costUnknown: 1, tokensUnknown: 1 }
const withdrawn = { runs: -1, costUnknown: -1, tokensUnknown: -1 }
/** If the usage has no card, only the credential's budgets are charged. */
const nobody = { cardId: 0, projectId: 0 }

/** The day of a transaction, UTC. */
const dayOf = (tx: Transaction): string => tx.now.slice(0, 10)
