import type { Transaction } from '../../store/engine/database.ts'
import { isSideSession } from '../../store/agents/sessionPurposes.ts'
import { updateSession, type AgentQuestion, type NewSession, type SessionRow } from '../../store/agents/sessions.ts'
import { agentState } from '../../views/agents.ts'
import { announce, changeStatus, noLimit, noSlot, noWait, queue, type Agents, type ChosenAgent } from './sessions.ts'

/**
 * Replaces a session at its usage limit with a queued one of another agent. The session fails without a notification, because its
 * card continues. Undefined if the session has already ended.
 */
export async function supersedeSession(
  tx: Transaction,
  agents: Agents,
  session: SessionRow,
  choice: ChosenAgent,
  next: Pick<NewSession, 'prompt' | 'notBefore' | 'limitWaits'>,
): Promise<SessionRow | undefined> {
  const failed = {
    status: 'failed',
    statusReason: 'usage_limit',
    waitingFor: null,
    endedAt: tx.now,
    ...noWait,
  } as const
  if (!(await changeStatus(tx, session, failed))) return undefined
  await agents.revokeTokens(tx, { sessionId: session.id })
  agents.terminate(tx, session.id)
  const card = { id: session.cardId, projectId: session.projectId }
  const statusReason = next.notBefore ? 'usage_limit' : null
  const successor = await queue(tx, agents, card, choice, {
    ...next,
    statusReason,
    purpose: session.purpose,
    starterId: session.starterId,
  })
  await announce(tx, session.id, {}, { type: 'failed', detail: null })
  return successor
}

/**
 * Requeues a session at its usage limit until `notBefore`. Its run ends, and it keeps its messages. Undefined if it has already
 * ended.
 */
export async function requeueUntil(
  tx: Transaction,
  agents: Agents,
  session: SessionRow,
  { detail, ...wait }: { detail: string; notBefore: string; limitEndsAt: string | null; limitWaits: number },
): Promise<SessionRow | undefined> {
  const queued = {
    status: 'queued',
    statusReason: 'usage_limit',
    detail: null,
    waitingFor: null,
    ...noWait,
    ...noSlot,
  } as const
  if (session.endedAt !== null || !(await changeStatus(tx, session, { ...queued, ...wait }))) return undefined
  await agents.revokeTokens(tx, { sessionId: session.id })
  agents.terminate(tx, session.id)
  return announce(tx, session.id, {}, { type: 'queued', detail })
}

/** Records which occupied slot a queued session waits for. Null if it no longer waits for one. */
export async function noteSlotWait(
  tx: Transaction,
  { id, agent, slotAwaitedAt, statusReason }: Pick<SessionRow, 'id' | 'agent' | 'slotAwaitedAt' | 'statusReason'>,
  slotWait: string | null,
): Promise<void> {
  await updateSession(tx, id, {
    // Another reason is unchanged: it means that the work had started.
    ...((statusReason === null || statusReason === 'slots') && { statusReason: slotWait === null ? null : 'slots' }),
    slotAwaitedAt: slotWait === null ? null : (slotAwaitedAt ?? tx.now),
    slotWait,
  })
  await announce(tx, id, {}, { type: 'queued', detail: slotWait ?? agent })
}

/**
 * Records which cards, or which time, a queued session waits for before its work starts. Null if it no longer waits for either.
 */
export async function recordBlockers(
  tx: Transaction,
  { id, agent }: Pick<SessionRow, 'id' | 'agent'>,
  blockade: string | null,
): Promise<void> {
  const statusReason = blockade === null ? null : 'blocked'
  await updateSession(tx, id, { statusReason, ...noSlot, slotWait: blockade })
  await announce(tx, id, {}, { type: 'queued', detail: blockade ?? agent })
}

/** The open questions of a session that only users answer, oldest first. Its permission requests end with its turn. */
export const listQuestions = (session: SessionRow): AgentQuestion[] =>
  isSideSession(session.purpose) ? [] : agentState(session).questions.filter(({ kind }) => kind === 'question')

/**
 * Ends a session's turn and run while questions of its agent are open: it waits for the answer. Undefined if the session has
 * already ended.
 */
export async function awaitAnswer(
  tx: Transaction,
  agents: Agents,
  session: SessionRow,
  questions: readonly [AgentQuestion, ...AgentQuestion[]],
  { summary, filesChanged }: Pick<SessionRow, 'summary' | 'filesChanged'>,
): Promise<SessionRow | undefined> {
  const waiting = {
    status: 'waiting',
    statusReason: 'question',
    detail: null,
    waitingFor: JSON.stringify(questions),
    ...noWait,
    ...noSlot,
    summary,
    filesChanged,
  } as const
  if (session.endedAt !== null || !(await changeStatus(tx, session, waiting))) return undefined
  await agents.revokeTokens(tx, { sessionId: session.id })
  agents.terminate(tx, session.id)
  return announce(tx, session.id, { unread: true }, { type: 'waiting', detail: questions[0].title })
}

/**
 * Starts a queued session without waiting for the end of a usage limit or, with `force`, for the blockers of its card.
 * Returns undefined if it waits for neither.
 */
export async function startNow(
  tx: Transaction,
  agents: Agents,
  session: SessionRow,
  force: boolean,
): Promise<SessionRow | undefined> {
  if (session.status !== 'queued') return undefined
  const isBlocked = session.statusReason === 'blocked'
  const canStart = isBlocked ? force : session.notBefore !== null
  if (!canStart) return undefined
  await updateSession(tx, session.id, {
    statusReason: null,
    ...noLimit,
    ...(isBlocked && { waitsForBlockers: false, slotWait: null }),
  })
  agents.reconcile(tx)
  return announce(tx, session.id, isBlocked ? { startHeld: false } : {}, { type: 'queued', detail: session.agent })
}

/**
 * Records that an agent waits for its model. If it shows no sign of life, its session waits for a user. A session with an open
 * question is unchanged.
 */
export async function noteModelWait(
  tx: Transaction,
  session: SessionRow,
  { isLifeless, ...wait }: { silentSince: string | null; retrying: string | null; isLifeless: boolean },
  detail: string | null,
): Promise<void> {
  if (session.status === 'waiting' && session.statusReason !== 'silent') return
  const status = isLifeless ? 'waiting' : 'running'
  const statusReason = isLifeless ? 'silent' : null
  if (await changeStatus(tx, session, { status, statusReason, ...wait }))
    await announce(tx, session.id, {}, { type: status, detail })
}
