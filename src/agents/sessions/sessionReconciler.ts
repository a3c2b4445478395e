import { logFailure, type Log } from '../../config/log.ts'
import type { SlotHolder } from '../../domain/agents/agentSlots.ts'
import { updateBlockades } from '../../domain/agents/blockedSessions.ts'
import { resumePaused } from '../../domain/agents/budgetPauses.ts'
import { isPaused, waitsWithoutRun } from '../../domain/agents/sessionStates.ts'
import type { Agents } from '../../domain/agents/sessions.ts'
import { listQuestions } from '../../domain/agents/sessionWaits.ts'
import { createReconciler, withinStop } from '../../process/reconciler.ts'
import type { Database, Transaction } from '../../store/engine/database.ts'
import { listOpen, readSession, type OpenSession } from '../../store/agents/sessions.ts'
import { addMessage, transcriptOf } from '../transcript/transcriptWriter.ts'
import { endOrAwaitAnswer } from './endOrAwaitAnswer.ts'
import type { RunDependencies } from './runDependencies.ts'
import { interrupted, lost } from './sessionEndings.ts'
import { createSessionQueue, lockOf } from './queue/sessionQueue.ts'
import { SessionRun } from './sessionRun.ts'
import { holdSlot, takeSlots } from './queue/takeSlots.ts'

/** Ending hundreds of sessions in one transaction exceeds a libSQL server's transaction timeout. */
const maxEndedPerCommit = 20

/**
 * A timer stops while the machine sleeps and ignores changes of the clock. So the reconciler checks at least this often while a session
 * waits.
 */
const maxSleepMs = 60_000
/**
 * How often waiting sessions are checked for whether they can continue: a new budget period can start, and another daemon can
 * change budgets and cards.
 */
const pausedPollMs = 5000

/** Keeps the runs on this machine in step with the open sessions in the database. */
export interface SessionReconciler {
  /** The run of a session, if it is on this machine. */
  runOf(sessionId: number): SessionRun | undefined
  /** Whether an agent's processes might be running on a card on this machine. */
  isAtWork(cardId: number): boolean
  /** Ends the processes of a card's agent that has ended its session and only sends late output. */
  endLate(cardId: number): Promise<void>
  /** Whether an agent here uses a folder of its project, or is about to. */
  usesFolder(folder: string): boolean
  /** Takes a slot for an agent check. @returns a function that releases the slot. @throws Problem CONFLICT if no slot is free */
  holdSlot(check: SlotHolder): Promise<() => void>
  /** Starts a reconciliation. If a reconciliation is already running, starts another one after it. */
  wake(): void
  /** Ends the waits of agents' tool calls for answers, as if their timeouts had expired. */
  releaseCalls(): void
  /** Starts to reconcile. Agents reach the server at this address, and from a sandbox through `acceptForBoard`. */
  start(url: string, log: Log, acceptForBoard: RunDependencies['acceptForBoard']): void
  /**
   * Ends every run; open sessions become interrupted, except those that wait for a usage limit, a budget, an answer or
   * a blocker of their card. Takes at most 9 s.
   */
  stop(): Promise<void>
}

export function createSessionReconciler(
  dependencies: Omit<RunDependencies, 'url' | 'log' | 'acceptForBoard'>,
): SessionReconciler {
  const { db, agents, config } = dependencies
  const runs = new Map<number, SessionRun>()
  const held = new Set<SlotHolder>()
  let acceptForBoard: RunDependencies['acceptForBoard'] = socket => socket.destroy()
  const queue = createSessionQueue(config.agentSlots)
  let later: NodeJS.Timeout | undefined
  const reconcile = async () => {
    const begun = new Set([...runs.values()].filter(({ hasBegun }) => hasBegun).map(({ id }) => id))
    const open = await listOpen(db)
    const others = open.filter(row => !waitsWithoutRun(row))
    const ids = new Set(others.filter(({ id, status }) => status !== 'queued' || !begun.has(id)).map(({ id }) => id))
    const now = config.clock().toISOString()
    const due = open.filter(row => isDue(row, now))
    stopOthers(runs, ids, due)
    for (const { id, status } of others)
      if (status !== 'queued' && !runs.has(id) && !reconciler.isOver)
        await db.transaction(tx => endLost(tx, agents, id, () => !runs.has(id) && !reconciler.isOver))
    if (!reconciler.isOver) await updateWaits(db, agents, open, now)
    queue.replace(due)
    clearTimeout(later)
    const sleepMs = reconciler.isOver ? undefined : untilNext(open, now)
    if (sleepMs !== undefined) later = setTimeout(reconciler.wake, sleepMs).unref()
    if (reconciler.isOver) return
    const { started, isMore } = await takeSlots(db, queue, [...runs.values()], [...held])
    for (const { id } of started) launch(open.find(row => row.id === id)!)
    if (isMore) setImmediate(reconciler.wake)
  }
  const launch = (row: OpenSession) => {
    const run = new SessionRun({ ...dependencies, ...reconciler.server!, acceptForBoard }, row)
    logRun(db, reconciler.server!.log, run)
    runs.set(row.id, run)
    void run.late.sessionEnded.then(reconciler.wake)
    void run.over.finally(() => runs.delete(row.id) && reconciler.wake())
  }
  const reconciler = createReconciler('Sessions', reconcile)

  return {
    runOf: id => runs.get(id),
    holdSlot: check => holdSlot(db, check, { held, runs, slots: config.agentSlots, onReleased: reconciler.wake }),
    wake: reconciler.wake,
    releaseCalls: () => [...runs.values()].forEach(run => run.questions.release()),
    start: (url, log, accept) => {
      acceptForBoard = accept
      reconciler.start(url, log)
    },
    endLate: cardId => stopLate(runs, cardId),
    isAtWork: cardId => [...runs.values()].some(run => run.cardId === cardId),
    usesFolder: folder => [...runs.values()].some(run => [undefined, folder].includes(run.ownFolder)),
    stop: async () => {
      clearTimeout(later)
      await reconciler.end()
      await interruptAll(db, agents, reconciler.server?.log)
      // A run that is creating its worktree can stop only after Git exits.
      await withinStop(Promise.all([...runs.values()].map(run => run.stop())))
    },
  }
}

async function updateWaits(db: Database, agents: Agents, open: readonly OpenSession[], now: string): Promise<void> {
  await resumePaused(db, agents, open.filter(isPaused), now)
  const queued = open.filter(({ status }) => status === 'queued')
  await updateBlockades(db, queued, now)
}

/**
 * Stops the runs of sessions that are not open. A run that has ended its session automatically continues to listen to its agent
 * until another session of the card is due.
 */
function stopOthers(runs: ReadonlyMap<number, SessionRun>, openIds: ReadonlySet<number>, due: readonly OpenSession[]) {
  const locks = new Set(due.map(lockOf))
  for (const run of runs.values())
    if (!openIds.has(run.id) && (!run.late.isEnding || locks.has(lockOf(run)))) void run.stop()
}

async function stopLate(runs: ReadonlyMap<number, SessionRun>, cardId: number): Promise<void> {
  await Promise.all([...runs.values()].map(run => run.cardId === cardId && run.late.isReceiving && run.stop()))
}

/** When the next session becomes due. Undefined if no session waits for a time, a budget or a card. */
function untilNext(open: readonly OpenSession[], now: string): number | undefined {
  const next = open.flatMap(({ notBefore }) =>
    notBefore !== null && notBefore > now ? Date.parse(notBefore) - Date.parse(now) : [],
  )
  if (open.some(row => isPaused(row) || row.isBlocked === 1)) next.push(pausedPollMs)
  return next.length > 0 ? Math.min(...next, maxSleepMs) : undefined
}

const isDue = ({ status, notBefore, isBlocked }: OpenSession, now: string) =>
  status === 'queued' && isBlocked === 0 && (notBefore === null || notBefore <= now)

const isPutOff = (session: OpenSession) =>
  waitsWithoutRun(session) ||
  (session.status === 'queued' &&
    (session.notBefore !== null || session.isBlocked === 1 || session.statusReason === 'budget'))

/** Logs the start of a run, and its end with the outcome of its session. */
function logRun(db: Database, log: Log, { id: sessionId, cardId, purpose, over }: SessionRun): void {
  const startedAtMs = performance.now()
  log('info', 'An agent starts.', { sessionId, cardId, purpose })
  void over
    .then(() => readSession(db, sessionId))
    .then(
      row =>
        log('info', 'An agent has ended.', {
          sessionId,
          cardId,
          agent: row?.agent,
          status: row?.status,
          reason: row?.statusReason,
          ms: Math.round(performance.now() - startedAtMs),
        }),
      () => {
        /* The server stops. */
      },
    )
}

/**
 * Ends open sessions as interrupted, in batches: those that `filter` accepts. Sessions that wait for the end of a usage limit,
 * for a budget, for an answer after their turn or for the cards that block theirs stay, because they wait in the database.
 * Sessions with an open question to users wait for the answer.
 */
export async function interruptOpen(
  db: Database,
  agents: Agents,
  filter: (session: OpenSession) => boolean = () => true,
): Promise<void> {
  const open = (await listOpen(db)).filter(session => !isPutOff(session) && filter(session))
  for (let from = 0; from < open.length; from += maxEndedPerCommit)
    await db.transaction(async tx => {
      for (const { id } of open.slice(from, from + maxEndedPerCommit)) await breakOff(tx, agents, id)
    })
}

async function breakOff(tx: Transaction, agents: Agents, id: number): Promise<void> {
  const row = await readSession(tx, id)
  if (!row || row.endedAt !== null) return
  if (listQuestions(row).length > 0) await addMessage(tx, transcriptOf(row), 'system', interrupted.detail)
  await endOrAwaitAnswer(tx, agents, row, interrupted)
}

/** Interrupts every open session. If a full disk prevents a write now, the next start of the server interrupts the session. */
const interruptAll = (db: Database, agents: Agents, log: Log | undefined): Promise<void> =>
  interruptOpen(db, agents).catch(
    (error: unknown) => log && logFailure(log, 'Open sessions could not be interrupted.', error),
  )

/** Fails a session that is running or waiting in the database and has no run. */
async function endLost(tx: Transaction, agents: Agents, id: number, isLost: () => boolean): Promise<void> {
  const row = await readSession(tx, id)
  if (row && row.status !== 'queued' && !waitsWithoutRun(row) && isLost()) await endOrAwaitAnswer(tx, agents, row, lost)
}
