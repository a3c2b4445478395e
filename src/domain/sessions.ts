import { Problem } from '../contract/errors.ts'
import type { CardStatus } from '../contract/fields.ts'
import { append } from '../events/outbox.ts'
import type { CardChange, CardRow } from '../store/cards.ts'
import type { Reader, Transaction } from '../store/database.ts'
import {
  insertSession,
  listOpenSessions,
  readLatestSession,
  readSession,
  updateSession,
  type SessionChange,
  type SessionPurpose,
  type SessionRow,
} from '../store/sessions.ts'
import { deleteWaitingMessages } from '../store/waitingMessages.ts'
import { agentSession } from '../views/agents.ts'
import { changeCardIfThere } from './cardChanges.ts'
import { mayBecome, type EndedStatus } from './sessionStates.ts'
import { refusal, requireMayStart, type Starter } from './starting.ts'
import { firstPrompt } from './steps.ts'

/** What the rules of cards ask of whoever runs their agents. */
export interface Agents {
  /** Which agent works on a card, or what is missing for that. */
  choose(db: Reader, card: CardRow): Promise<{ agent: string } | { missing: string }>
  /** Ends the agent tokens of a card or a session; their sockets are closed after the commit. */
  revokeTokens(tx: Transaction, of: { cardId: number } | { sessionId: number }): Promise<void>
  /** After the commit: starts queued sessions that have a slot, and ends processes whose sessions are gone. */
  reconcile(tx: Transaction): void
  /** After the commit: ends the processes of a session. */
  terminate(tx: Transaction, sessionId: number): void
}

/** How a session ends. */
export type Ending = Pick<SessionChange, 'statusReason' | 'detail' | 'summary' | 'filesChanged'> & {
  status: EndedStatus
}
/** A card's `lastAgentAction`, before it is stored as JSON. */
type Action = { type: string; detail: string | null }

/** The ending of a session that a person cancels. */
export const cancelled: Ending = { status: 'cancelled', statusReason: 'cancelled' }

/** A card's open session, pre-sessions left out. */
export const findOpen = async (db: Reader, cardId: number): Promise<SessionRow | undefined> =>
  (await listOpenSessions(db, cardId)).find(({ purpose }) => purpose !== 'pre')

/**
 * Queues a new session. When no agent can run it, the card's last action says what is missing, and there is no session.
 * @throws Problem INSUFFICIENT_PERMISSIONS, AGENT_ALREADY_RUNNING
 */
export async function begin(
  tx: Transaction,
  agents: Agents,
  card: CardRow,
  by: Starter,
  prompt: string,
  purpose: SessionPurpose = 'work',
): Promise<SessionRow | undefined> {
  requireMayStart(by, card.kind)
  if ((await listOpenSessions(tx, card.id)).some(open => (open.purpose === 'pre') === (purpose === 'pre')))
    throw new Problem('AGENT_ALREADY_RUNNING')
  const choice = purpose === 'terminal' ? { agent: 'terminal' } : await agents.choose(tx, card)
  if ('missing' in choice) {
    await changeCardIfThere(tx, card, { lastAgentAction: notStarted(tx, { message: choice.missing }) })
    return undefined
  }
  const id = await insertSession(tx, {
    projectId: card.projectId,
    cardId: card.id,
    purpose,
    agent: choice.agent,
    status: 'queued',
    prompt,
  })
  agents.reconcile(tx)
  return announce(tx, id, { deferred: false }, { type: 'queued', detail: choice.agent })
}

/** Why a card cannot be started: the caller's key lacks the permission, or no agent is available. Undefined when it can. */
export async function findStartProblem(
  db: Reader,
  agents: Agents,
  card: CardRow,
  by: Starter | undefined,
): Promise<Problem | undefined> {
  const refused = refusal(by, card.kind)
  if (refused || card.kind === 'terminal') return refused
  const choice = await agents.choose(db, card)
  return 'missing' in choice ? new Problem('AGENT_UNAVAILABLE', choice.missing) : undefined
}

/** @throws Problem INSUFFICIENT_PERMISSIONS, AGENT_UNAVAILABLE saying what is missing */
export async function requireStartable(db: Reader, agents: Agents, card: CardRow, by: Starter): Promise<void> {
  const problem = await findStartProblem(db, agents, card, by)
  if (problem) throw problem
}

/** The last action of a card whose agent could not be started. */
export const notStarted = (tx: Transaction, { message }: Pick<Problem, 'message'>): string =>
  action(tx, { type: 'not_started', detail: message })

/** Starts a card's agent with the prompts of its step and of the card, or a terminal card's shell command. @throws Problem INSUFFICIENT_PERMISSIONS, AGENT_ALREADY_RUNNING */
export const start = async (
  tx: Transaction,
  agents: Agents,
  card: CardRow,
  by: Starter,
): Promise<SessionRow | undefined> =>
  begin(tx, agents, card, by, await firstPrompt(tx, card), card.kind === 'terminal' ? 'terminal' : 'work')

/** Queues an ended session again, so that its agent resumes it. @throws Problem INSUFFICIENT_PERMISSIONS, AGENT_ALREADY_RUNNING */
export async function reopen(tx: Transaction, agents: Agents, session: SessionRow, by: Starter): Promise<SessionRow> {
  requireMayStart(by, session.purpose === 'terminal' ? 'terminal' : 'kanban')
  const open = await listOpenSessions(tx, session.cardId)
  if (open.some(({ purpose }) => (purpose === 'pre') === (session.purpose === 'pre')))
    throw new Problem('AGENT_ALREADY_RUNNING')
  const queued = { status: 'queued', statusReason: null, detail: null, endedAt: null, waitingFor: null } as const
  if (!(await changeStatus(tx, session, queued))) throw new Problem('CONFLICT', 'The session is over.')
  agents.reconcile(tx)
  return announce(tx, session.id, { deferred: false }, { type: 'queued', detail: session.agent })
}

/** Marks an open session as running. Undefined when it has ended meanwhile. */
export const markRunning = (tx: Transaction, id: number): Promise<SessionRow | undefined> =>
  markOpen(tx, id, { status: 'running', waitingFor: null }, null)

/** Marks an open session as waiting for a person. `waitingFor` is the JSON of all its questions, `question` the title of the oldest. */
export const markWaiting = (
  tx: Transaction,
  id: number,
  waitingFor: string,
  question: string,
): Promise<SessionRow | undefined> => markOpen(tx, id, { status: 'waiting', waitingFor }, question)

async function markOpen(
  tx: Transaction,
  id: number,
  to: SessionChange & { status: 'running' | 'waiting' },
  detail: string | null,
): Promise<SessionRow | undefined> {
  const session = await readSession(tx, id)
  const started = session?.startedAt === null && { startedAt: tx.now }
  if (!session || !(await changeStatus(tx, session, { ...to, ...started }))) return undefined
  return announce(tx, id, {}, { type: to.status, detail })
}

/**
 * Ends an open session and revokes its tokens. Its waiting messages are kept for its successor, unless it is cancelled.
 * `unread` marks the card as unread. Undefined when the session has ended already.
 */
export async function end(
  tx: Transaction,
  agents: Agents,
  id: number,
  ending: Ending,
  unread = false,
): Promise<SessionRow | undefined> {
  const session = await readSession(tx, id)
  if (!session || session.endedAt !== null) return undefined
  const cleared = { statusReason: null, detail: null }
  if (!(await changeStatus(tx, session, { ...cleared, ...ending, waitingFor: null, endedAt: tx.now }))) return undefined
  if (ending.status === 'cancelled') await deleteWaitingMessages(tx, id)
  await agents.revokeTokens(tx, { sessionId: id })
  agents.terminate(tx, id)
  return announce(tx, id, unread ? { unread } : {}, { type: ending.status, detail: ending.detail ?? null })
}

/** Closes a pre-session whose turn has ended: `idle` when its prompt was accepted. */
export const closePreSession = (tx: Transaction, session: SessionRow, status: 'idle' | 'cancelled'): Promise<boolean> =>
  changeStatus(tx, session, { status, statusReason: status === 'idle' ? null : 'cancelled' })

/** All changes of a session's status pass here. False when the state machine does not allow the transition. */
async function changeStatus(
  tx: Transaction,
  { id, status }: SessionRow,
  to: SessionChange & { status: CardStatus },
): Promise<boolean> {
  if (!mayBecome(status, to.status)) return false
  await updateSession(tx, id, to)
  return true
}

/** Ends a card's open session and revokes the card's tokens at a person's request; `all` ends its pre-session too. */
export async function endCard(
  tx: Transaction,
  agents: Agents,
  cardId: number,
  ending: Ending,
  { all = false } = {},
): Promise<void> {
  for (const open of await listOpenSessions(tx, cardId))
    if (all || open.purpose !== 'pre') await end(tx, agents, open.id, ending)
  await agents.revokeTokens(tx, { cardId })
}

/** Appends the event of a session's new status and copies the status to the card, unless it is a pre-session or not the latest. */
async function announce(tx: Transaction, id: number, card: CardChange, did: Action): Promise<SessionRow> {
  const session = (await readSession(tx, id))!
  await append(tx, 'agent.status', session.projectId, agentSession(session))
  if (session.purpose === 'pre' || (await readLatestSession(tx, session.cardId))?.id !== id) return session
  const { status, statusReason, startedAt, endedAt } = session
  await changeCardIfThere(
    tx,
    { id: session.cardId, projectId: session.projectId },
    { ...card, status, statusReason, startedAt, endedAt, lastAgentAction: action(tx, did) },
  )
  return session
}

const action = (tx: Transaction, { type, detail }: Action): string => JSON.stringify({ type, at: tx.now, detail })
