import { logFailure, type Log } from '../../config/log.ts'
import { waitsWithoutRun } from '../../domain/agents/sessionStates.ts'
import type { Agents } from '../../domain/agents/sessions.ts'
import { listQuestions } from '../../domain/agents/sessionWaits.ts'
import { listOpen, readSession, type OpenSession } from '../../store/agents/sessions.ts'
import { releaseSlots } from '../../store/agents/slots.ts'
import type { Database, Transaction } from '../../store/engine/database.ts'
import { addMessage, transcriptOf } from '../transcript/transcriptWriter.ts'
import { endOrAwaitAnswer } from './endOrAwaitAnswer.ts'
import { interrupted } from './sessionEndings.ts'

/** Ending hundreds of sessions in one transaction exceeds a libSQL server's transaction timeout. */
const maxEndedPerCommit = 20

/**
 * Interrupts the open sessions of an earlier server, except those that wait for the end of a usage limit, for a budget, or for an
 * answer after their turn. On a shared database, all queued sessions stay: other daemons might have queued them while no server
 * ran on this machine.
 */
export async function recover(db: Database, agents: Agents): Promise<void> {
  await db.transaction(releaseSlots)
  await interruptOpen(db, agents, ({ status }) => !db.isShared || status !== 'queued')
}

/** Interrupts every open session. If a full disk prevents a write now, the next start of the server interrupts the session. */
export const interruptAll = (db: Database, agents: Agents, log: Log | undefined): Promise<void> =>
  interruptOpen(db, agents).catch(
    (error: unknown) => log && logFailure(log, 'Open sessions could not be interrupted.', error),
  )

/**
 * Interrupts the open sessions that `filter` accepts, in batches. Sessions that wait for the end of a usage limit, a budget, an answer
 * after their turn or the blockers of their card stay open. Sessions with an open question to users wait for the answer.
 */
async function interruptOpen(
  db: Database,
  agents: Agents,
  filter: (session: OpenSession) => boolean = () => true,
): Promise<void> {
  const open = (await listOpen(db)).filter(session => !waitsInDatabase(session) && filter(session))
  for (let from = 0; from < open.length; from += maxEndedPerCommit)
    await db.transaction(async tx => {
      for (const { id } of open.slice(from, from + maxEndedPerCommit)) await interruptSession(tx, agents, id)
    })
}

async function interruptSession(tx: Transaction, agents: Agents, id: number): Promise<void> {
  const session = await readSession(tx, id)
  if (!session || session.endedAt !== null) return
  if (listQuestions(session).length > 0) await addMessage(tx, transcriptOf(session), 'system', interrupted.detail)
  await endOrAwaitAnswer(tx, agents, session, interrupted)
}

/** Returns whether a session survives the end of the server, because it waits in the database. */
const waitsInDatabase = (session: OpenSession) =>
  waitsWithoutRun(session) ||
  (session.status === 'queued' &&
    (session.notBefore !== null || session.isBlocked === 1 || session.statusReason === 'budget'))
