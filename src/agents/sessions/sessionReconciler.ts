import { logFailure, type Log } from '../../config/log.ts'
import { end, type Agents, type Ending } from '../../domain/sessions.ts'
import { whileNews, withinStop } from '../../process/whileNews.ts'
import type { Database, Transaction } from '../../store/database.ts'
import { listOpen, readSession, type OpenSession } from '../../store/sessions.ts'
import type { SessionParts } from './dependencies.ts'
import { createQueue } from './sessionQueue.ts'
import { startSession, type LiveSession } from './sessionRun.ts'

const interrupted: Ending = {
  status: 'interrupted',
  statusReason: 'server_restart',
  detail: 'The server stopped while the agent was at work.',
}
const lost: Ending = {
  status: 'failed',
  statusReason: 'crashed',
  detail: 'The server lost the agent; its log tells more.',
}
/** How many sessions are ended in one commit. */
const mostACommit = 20

/** The sessions whose agents run here, and those that wait for their turn. */
export interface Fleet {
  /** The session of this id, if its agent runs here. */
  live(id: number): LiveSession | undefined
  /** Whether processes of an agent may run on a card here. */
  isAtWork(cardId: number): boolean
  /** Looks which sessions are to be started, and which agents to be ended. */
  wake(): void
  /** Takes up work: agents reach the server at this address. */
  start(url: string, log: Log): void
  /** Ends every agent; what was open becomes interrupted. Takes at most 9 s. */
  stop(): Promise<void>
}

type Parts = Omit<SessionParts, 'url' | 'log'>

/** What the rows of sessions say is what it does: no row says that an agent runs for which none does, and the other way round. */
export function createFleet(parts: Parts): Fleet {
  const { db, agents, config } = parts
  const running = new Map<number, LiveSession>()
  const queue = createQueue(config.agentSlots)
  const look = async () => {
    const open = await listOpen(db)
    const ids = new Set(open.map(({ id }) => id))
    for (const session of running.values()) if (!ids.has(session.id)) void session.stop()
    for (const { id, status } of open)
      if (status !== 'queued' && !running.has(id) && !lookout.isOver)
        await db.transaction(tx => endLost(tx, agents, id, () => !running.has(id) && !lookout.isOver))
    queue.keep(open.filter(({ status }) => status === 'queued'))
    if (!lookout.isOver)
      for (const { id } of queue.next([...running.values()])) launch(open.find(row => row.id === id)!)
  }
  const launch = (row: OpenSession) => {
    const session = noted(db, lookout.at!.log, startSession({ ...parts, ...lookout.at! }, row))
    running.set(row.id, session)
    void session.over.finally(() => {
      if (running.delete(row.id)) lookout.wake()
    })
  }
  const lookout = whileNews('Sessions', look)

  return {
    live: id => running.get(id),
    wake: lookout.wake,
    start: lookout.start,
    isAtWork: cardId => [...running.values()].some(session => session.cardId === cardId),
    stop: async () => {
      await lookout.end()
      // What cannot be written now, on a full disk say, is when the server starts again.
      await interruptAll(db, agents).catch(
        (error: unknown) =>
          lookout.at && logFailure(lookout.at.log, 'Sessions could not be ended in the database.', error),
      )
      // A session that makes its worktree cannot be stopped before Git has ended.
      await withinStop(Promise.all([...running.values()].map(session => session.stop())))
    },
  }
}

/** Notes the beginning of an agent's work and its end. */
function noted(db: Database, log: Log, session: LiveSession): LiveSession {
  const { id: sessionId, cardId, purpose, over } = session
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
  return session
}

/** Ends every open session that fits as interrupted, some in a commit: hundreds at once are more than a libSQL server does within the time for one. */
export async function interruptAll(
  db: Database,
  agents: Agents,
  fits: (session: OpenSession) => boolean = () => true,
): Promise<void> {
  const open = (await listOpen(db)).filter(fits)
  for (let at = 0; at < open.length; at += mostACommit)
    await db.transaction(async tx => {
      for (const { id } of open.slice(at, at + mostACommit)) await end(tx, agents, id, interrupted, true)
    })
}

/** Nothing runs for a session that says so: it must not say so any longer. */
async function endLost(tx: Transaction, agents: Agents, id: number, isLost: () => boolean): Promise<void> {
  const row = await readSession(tx, id)
  if (row && row.status !== 'queued' && isLost()) await end(tx, agents, id, lost, true)
}
