import type { Log } from '../../config/log.ts'
import type { SlotHolder } from '../../domain/agents/agentSlots.ts'
import { updateBlockades } from '../../domain/agents/blockedSessions.ts'
import { resumePaused } from '../../domain/agents/budgetPauses.ts'
import { isPaused, waitsWithoutRun } from '../../domain/agents/sessionStates.ts'
import type { Agents, ChosenAgent } from '../../domain/agents/sessions.ts'
import { createReconciler, withinStop, type ServerAccess } from '../../process/reconciler.ts'
import type { CredentialProvider } from '../../contract/accounts/credentials.ts'
import { revokeAgentTokens } from '../../identity/agentTokens.ts'
import type { Revocations } from '../../identity/revocations.ts'
import type { CardRow } from '../../store/cards/cards.ts'
import type { Database, Reader, Transaction } from '../../store/engine/database.ts'
import { doesNotTake } from '../providers/providerCatalogue.ts'
import { chooseAgent } from './queue/chooseAgent.ts'
import { listOpen, readSession, type OpenSession } from '../../store/agents/sessions.ts'
import { endOrAwaitAnswer } from './endOrAwaitAnswer.ts'
import type { RunDependencies } from './runDependencies.ts'
import { interruptAll } from './interruptSessions.ts'
import { lost } from './sessionEndings.ts'
import { createSessionQueue, lockOf, type SessionQueue } from './queue/sessionQueue.ts'
import { SessionRun } from './sessionRun.ts'
import { holdSlot, takeSlots } from './queue/takeSlots.ts'

/** The maximum time between two checks while a session waits. A timer stops while the machine sleeps, and ignores changes of the clock. */
const maxSleepMs = 60_000
/** The interval of checks for a new budget period, and for budgets and cards that another daemon has changed. */
const pausedPollMs = 5000

type Dependencies = Omit<RunDependencies, keyof ServerAccess | 'agents'> & { revocations: Revocations }

/** Keeps the runs on this machine in step with the open sessions in the database, and answers the domain's questions about agents. */
export class Supervisor implements Agents {
  readonly #dependencies: Dependencies
  readonly #runs = new Map<number, SessionRun>()
  readonly #queue: SessionQueue
  readonly #checksWithSlot = new Set<SlotHolder>()
  readonly #reconciler = createReconciler('Sessions', () => this.#reconcile())
  #timer: NodeJS.Timeout | undefined

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies
    this.#queue = createSessionQueue(dependencies.config.agentSlots)
  }

  /** Starts to reconcile. */
  start(server: ServerAccess): void {
    this.#reconciler.start(server)
  }

  /** Starts a reconciliation. If a reconciliation is already running, starts another one after it. */
  wake(): void {
    this.#reconciler.wake()
  }

  /**
   * Ends every run; open sessions become interrupted, except those that wait for a usage limit, a budget, an answer or
   * a blocker of their card. Takes at most 9 s.
   */
  async stop(): Promise<void> {
    clearTimeout(this.#timer)
    await this.#reconciler.end()
    await interruptAll(this.#dependencies.db, this, this.#reconciler.server?.log)
    // A run that is creating its worktree can stop only after Git exits.
    await withinStop(Promise.all(this.#listRuns().map(run => run.stop())))
  }

  /** Reads the catalogue. Call it before a transaction that might choose an agent. */
  async refresh(): Promise<void> {
    await this.#dependencies.catalogue.list().catch(() => {
      /* The error is thrown again when an agent is chosen. */
    })
  }

  choose(db: Reader, card: CardRow): Promise<ChosenAgent | { missing: string }> {
    const { catalogue, config } = this.#dependencies
    return chooseAgent(catalogue, db, card, config.clock().toISOString())
  }

  async credentialProblem(agent: string, provider: CredentialProvider): Promise<string | undefined> {
    const entries = await this.#dependencies.catalogue.list()
    const entry = entries.find(each => each.provider.id === agent)
    return entry && !entry.provider.credentials[provider] ? doesNotTake(entry.provider, provider, entries) : undefined
  }

  listIds(): Promise<readonly string[]> {
    return this.#dependencies.catalogue.listIds()
  }

  nameOf(agent: string): Promise<string> {
    return this.#dependencies.catalogue.nameOf(agent)
  }

  revokeTokens(tx: Transaction, of: { cardId: number } | { sessionId: number }): Promise<void> {
    return revokeAgentTokens(this.#dependencies.revocations, tx, of)
  }

  reconcile(tx: Transaction): void {
    tx.afterCommit(() => this.wake())
  }

  terminate(tx: Transaction, sessionId: number): void {
    tx.afterCommit(() => {
      const run = this.runOf(sessionId)
      if (!run?.late.isEnding) void run?.stop()
      this.wake()
    })
  }

  /** The run of a session, if it is on this machine. */
  runOf(sessionId: number): SessionRun | undefined {
    return this.#runs.get(sessionId)
  }

  /** Whether an agent's processes might be running on a card on this machine. */
  isAtWork(cardId: number): boolean {
    return this.#listRuns().some(run => run.cardId === cardId)
  }

  /** Whether an agent here uses a folder of its project, or is about to. */
  usesFolder(folder: string): boolean {
    return this.#listRuns().some(({ ownFolder }) => ownFolder === undefined || ownFolder === folder)
  }

  /** Ends the processes of a card's agent that has ended its session and only sends late output. */
  async endLate(cardId: number): Promise<void> {
    await Promise.all(this.#listRuns().map(run => run.cardId === cardId && run.late.isReceiving && run.stop()))
  }

  /** Ends the waits of agents' tool calls for answers, as if their timeouts had expired. */
  releaseCalls(): void {
    for (const { questions } of this.#runs.values()) questions.release()
  }

  /** Takes a slot for an agent check. @returns a function that releases the slot. @throws Problem CONFLICT if no slot is free */
  holdSlot(check: SlotHolder): Promise<() => void> {
    const { db, config } = this.#dependencies
    return holdSlot(db, check, {
      held: this.#checksWithSlot,
      runs: this.#runs,
      slots: config.agentSlots,
      onReleased: () => this.wake(),
    })
  }

  #listRuns(): SessionRun[] {
    return [...this.#runs.values()]
  }

  async #reconcile(): Promise<void> {
    const { db, config } = this.#dependencies
    // Read before the open sessions, because a session is queued in the database until its run begins.
    const begun = new Set(this.#listRuns().flatMap(({ id, hasBegun }) => (hasBegun ? id : [])))
    const open = await listOpen(db)
    const now = config.clock().toISOString()
    const due = open.filter(session => isDue(session, now))

    const running = open.filter(session => needsRun(session, begun))
    stopEndedRuns(this.#listRuns(), running, due)
    for (const session of open)
      if (this.#isLost(session)) await db.transaction(tx => failLost(tx, this, session.id, () => this.#isLost(session)))
    if (this.#reconciler.isOver) return

    const queued = open.filter(({ status }) => status === 'queued')
    await resumePaused(db, this, open.filter(isPaused), now)
    await updateBlockades(db, queued, now)
    if (this.#reconciler.isOver) return

    this.#wakeAfter(msUntilNext(open, now))
    this.#queue.replace(due)
    const { started, isMore } = await takeSlots(db, this.#queue, this.#listRuns(), [...this.#checksWithSlot])
    for (const { id } of started) this.#startRun(open.find(session => session.id === id)!)
    if (isMore) setImmediate(() => this.wake())
  }

  #isLost(session: OpenSession): boolean {
    const isRunning = session.status !== 'queued' && !waitsWithoutRun(session)
    return isRunning && !this.#runs.has(session.id) && !this.#reconciler.isOver
  }

  #wakeAfter(ms: number | undefined): void {
    clearTimeout(this.#timer)
    if (ms !== undefined) this.#timer = setTimeout(() => this.wake(), ms).unref()
  }

  #startRun(session: OpenSession): void {
    const server = this.#reconciler.server!
    const run = new SessionRun({ ...this.#dependencies, ...server, agents: this }, session)
    logRun(this.#dependencies.db, server.log, run)
    this.#runs.set(session.id, run)
    void run.late.sessionEnded.then(() => this.wake())
    void run.over.finally(() => this.#runs.delete(session.id) && this.wake())
  }
}

/** Returns whether an open session keeps its run. A session that begins, and is then queued again, gets another run later. */
const needsRun = (session: OpenSession, begun: ReadonlySet<number>): boolean =>
  !waitsWithoutRun(session) && !(session.status === 'queued' && begun.has(session.id))

/**
 * Stops the runs whose sessions have ended, or wait without a run. A run that has ended its session itself continues to receive the
 * last updates of its agent until another session of the card is due.
 */
function stopEndedRuns(
  runs: readonly SessionRun[],
  sessions: readonly OpenSession[],
  due: readonly OpenSession[],
): void {
  const ids = new Set(sessions.map(({ id }) => id))
  const locks = new Set(due.map(lockOf))
  for (const run of runs) if (!ids.has(run.id) && (!run.late.isEnding || locks.has(lockOf(run)))) void run.stop()
}

/** The time until the next session is due or must be checked. Undefined if no session waits for a time, a budget or a card. */
function msUntilNext(open: readonly OpenSession[], now: string): number | undefined {
  const waits = open.flatMap(({ notBefore }) =>
    notBefore !== null && notBefore > now ? Date.parse(notBefore) - Date.parse(now) : [],
  )
  if (open.some(session => isPaused(session) || session.isBlocked === 1)) waits.push(pausedPollMs)
  return waits.length > 0 ? Math.min(...waits, maxSleepMs) : undefined
}

const isDue = ({ status, notBefore, isBlocked }: OpenSession, now: string) =>
  status === 'queued' && isBlocked === 0 && (notBefore === null || notBefore <= now)

/** Logs the start of a run, and its end with the outcome of its session. */
function logRun(db: Database, log: Log, { id: sessionId, cardId, purpose, over }: SessionRun): void {
  const startedAtMs = performance.now()
  log('info', 'An agent starts.', { sessionId, cardId, purpose })
  const logEnd = async () => {
    await over
    const session = await readSession(db, sessionId)
    log('info', 'An agent has ended.', {
      sessionId,
      cardId,
      agent: session?.agent,
      status: session?.status,
      reason: session?.statusReason,
      ms: Math.round(performance.now() - startedAtMs),
    })
  }
  logEnd().catch(() => {
    /* The server stops. */
  })
}

/** Fails a session that runs or waits in the database, and has no run. Checks again, because a run can start before the transaction. */
async function failLost(tx: Transaction, agents: Agents, id: number, isStillLost: () => boolean): Promise<void> {
  const session = await readSession(tx, id)
  if (session && session.status !== 'queued' && !waitsWithoutRun(session) && isStillLost())
    await endOrAwaitAnswer(tx, agents, session, lost)
}
