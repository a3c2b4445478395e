import type { InferOutput } from 'valibot'
import type { MessageInput } from '../contract/agents/agentMessages.ts'
import { Problem, refuse } from '../contract/errors.ts'
import type { PreSession } from '../contract/agents/preSessions.ts'
import { hasBegun } from '../domain/agents/budgetPauses.ts'
import { requireBudget } from '../domain/agents/budgetState.ts'
import type { Caller } from '../domain/accounts/caller.ts'
import * as cards from '../domain/cards/cards.ts'
import { begin, cancelled, changeStatus, end, reopen, type Agents } from '../domain/agents/sessions.ts'
import { requireStartable } from '../domain/cards/startOrHold.ts'
import type { CardRow } from '../store/cards/cards.ts'
import type { Reader, Transaction } from '../store/engine/database.ts'
import { readSession, type SessionItem, type SessionRow } from '../store/agents/sessions.ts'
import type { MessageView } from '../views/agents.ts'
import { hasActiveAgent } from '../views/cards.ts'
import { findGiven } from './sessions/prompts/promptFiles.ts'
import { queueMessage } from './sessions/queue/queuedMessages.ts'

export interface PreSessionRef {
  projectId: number
  sessionId: number
}

/**
 * The planning agent's first prompt. Each answer completes the session, and the next message reopens it until it is accepted or cancelled.
 */
const planningPrompt = ({ title, prompt }: CardRow): string =>
  'Help refine the prompt of a task before another agent starts to work on it. Read the parts of the project that you need, but do not change anything. ' +
  'If something is unclear, ask a few short questions. Every answer must contain the best complete prompt so far, in a block that starts with ```prompt and ends with ```.\n\n' +
  `The task is: ${title}\n\n${prompt}`

/**
 * Starts to refine a card's prompt.
 * @throws Problem CARD_NOT_FOUND, INSUFFICIENT_PERMISSIONS, AGENT_ALREADY_RUNNING, AGENT_UNAVAILABLE, CONFLICT for cards without a prompt
 * to refine
 */
export async function start(tx: Transaction, agents: Agents, ref: cards.StartRef): Promise<SessionRow> {
  const card = await cards.find(tx, ref)
  if (card.kind !== 'kanban' || card.archivedAt !== null)
    throw new Problem('CONFLICT', 'Only the prompt of a kanban card can be refined.')
  if (hasActiveAgent(card)) throw new Problem('AGENT_ALREADY_RUNNING')
  await requireStartable(tx, agents, card, ref.caller)
  return (await begin(tx, agents, card, ref.caller, planningPrompt(card), 'pre')) ?? refuse('PRE_SESSION_NOT_FOUND')
}

/** @throws Problem PRE_SESSION_NOT_FOUND */
export async function find(db: Reader, { projectId, sessionId }: PreSessionRef): Promise<SessionRow> {
  const session = await readSession(db, sessionId)
  if (session?.purpose !== 'pre' || session.projectId !== projectId) return refuse('PRE_SESSION_NOT_FOUND')
  await cards.find(db, { projectId, cardId: session.cardId }).catch(() => refuse('PRE_SESSION_NOT_FOUND'))
  return session
}

/**
 * Answers the planning agent.
 * @throws Problem PRE_SESSION_NOT_FOUND, ATTACHMENT_NOT_FOUND, INSUFFICIENT_PERMISSIONS, BUDGET_EXHAUSTED, CONFLICT if the pre-session has
 * ended
 */
export async function send(
  tx: Transaction,
  agents: Agents,
  ref: PreSessionRef & { caller: Caller },
  { content, attachmentIds }: MessageInput,
): Promise<MessageView> {
  const session = await findUnfinished(tx, ref)
  const given = await findGiven(tx, attachmentIds, session)
  if (session.endedAt === null) await requireBudget(tx, session, hasBegun(session))
  const open = session.endedAt === null ? session : await reopen(tx, agents, session, ref.caller)
  return queueMessage(tx, open, content, given)
}

/**
 * Replaces the card's prompt with the refined prompt.
 * @throws Problem PRE_SESSION_NOT_FOUND, AGENT_ALREADY_RUNNING during a turn, CONFLICT if there is no refined prompt, or the pre-session
 * has ended
 */
export async function accept(
  tx: Transaction,
  agents: Agents,
  ref: PreSessionRef & { caller: Caller },
): Promise<CardRow> {
  const session = await findUnfinished(tx, ref)
  if (session.endedAt === null)
    throw new Problem('AGENT_ALREADY_RUNNING', 'The planning agent is working. Wait for its answer.')
  if (!session.summary) throw new Problem('CONFLICT', 'The planning agent has not proposed a prompt yet.')
  await close(tx, session, 'idle')
  agents.reconcile(tx)
  const { projectId, cardId, summary: prompt } = session
  return cards.update(tx, agents, { projectId, cardId, caller: ref.caller }, { prompt })
}

/** Ends a pre-session without changing the card. @throws Problem PRE_SESSION_NOT_FOUND, CONFLICT if the pre-session has ended */
export async function cancel(tx: Transaction, agents: Agents, ref: PreSessionRef): Promise<void> {
  const session = await findUnfinished(tx, ref)
  if (!(await end(tx, agents, session.id, cancelled))) await close(tx, session, 'cancelled')
}

/**
 * A completed or interrupted session waits for an answer; an accepted one stays idle. A session that is silent or waits for a
 * budget is still in its turn.
 */
export function preSessionView({
  id,
  cardId,
  status,
  statusReason,
  summary,
  createdAt,
}: SessionItem): InferOutput<typeof PreSession> {
  const shown = {
    idle: 'accepted',
    queued: 'running',
    running: 'running',
    waiting: 'waiting',
    completed: 'waiting',
    failed: 'failed',
    cancelled: 'cancelled',
    interrupted: 'waiting',
  } as const
  const inTurn = status === 'waiting' && (statusReason === 'silent' || statusReason === 'budget')
  const known = inTurn ? 'running' : shown[status]
  return { sessionId: String(id), cardId: String(cardId), status: known, prompt: summary, createdAt }
}

/** A page of pre-sessions with the cursor of the next one. */
export const preSessionPage = ({ rows, next }: { rows: readonly SessionItem[]; next: number | undefined }) => ({
  items: rows.map(preSessionView),
  nextCursor: next === undefined ? null : String(next),
})

/** A pre-session that is neither accepted nor cancelled. */
async function findUnfinished(tx: Transaction, ref: PreSessionRef): Promise<SessionRow> {
  const session = await find(tx, ref)
  if (session.status === 'idle' || session.status === 'cancelled')
    throw new Problem('CONFLICT', 'The pre-session has ended.')
  return session
}

/** Closes a pre-session whose turn has ended: `idle` when its prompt was accepted. */
const close = (tx: Transaction, session: SessionRow, status: 'idle' | 'cancelled'): Promise<boolean> =>
  changeStatus(tx, session, { status, statusReason: status === 'idle' ? null : 'cancelled' })
