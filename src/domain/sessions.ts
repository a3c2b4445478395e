import { Problem } from '../contract/errors.ts'
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
import { refusal, requireMayStart, type Starter } from './starting.ts'
import { firstPrompt } from './steps.ts'

/** What the rules of cards ask of whoever runs their agents. */
export interface Agents {
  /** Which agent works on a card, or what is missing for that. */
  choose(db: Reader, card: CardRow): Promise<{ agent: string } | { missing: string }>
  /** Ends the agent tokens of a card or a session; their sockets are closed after the commit. */
  revokeTokens(tx: Transaction, of: { cardId: number } | { sessionId: number }): Promise<void>
  /** After the commit: looks which sessions wait for their turn, and ends the processes of those that are gone. */
  look(tx: Transaction): void
  /** After the commit: ends the processes of a session that has ended. */
  ended(tx: Transaction, sessionId: number): void
}

/** How a session ends. `completed` is well. */
export type Ending = Pick<SessionChange, 'statusReason' | 'detail' | 'summary' | 'filesChanged'> & {
  status: 'completed' | 'failed' | 'cancelled' | 'interrupted'
}
/** What a card's last action is called when its session comes to a status. */
type Action = { type: string; detail: string | null }

/** What somebody who cancels does to a session. */
export const cancelled: Ending = { status: 'cancelled', statusReason: 'cancelled' }

/** A card's open session, pre-sessions left out. */
export const findOpen = async (db: Reader, cardId: number): Promise<SessionRow | undefined> =>
  (await listOpenSessions(db, cardId)).find(({ purpose }) => purpose !== 'pre')

/**
 * Asks for an agent: a new session waits for its turn. What is missing for that is told on the card instead.
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
  agents.look(tx)
  return announce(tx, id, { deferred: false }, { type: 'queued', detail: choice.agent })
}

/** Why a card cannot be started by somebody, or at all: a key lacks the permission, or no agent is installed. Undefined when it can. */
export async function obstacle(
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
  const problem = await obstacle(db, agents, card, by)
  if (problem) throw problem
}

/** A card's last action where its agent was to start and could not. */
export const notStarted = (tx: Transaction, { message }: Pick<Problem, 'message'>): string =>
  action(tx, { type: 'not_started', detail: message })

/** Starts what a card is for: its agent with the prompts of its step and its own, or its shell command. @throws Problem INSUFFICIENT_PERMISSIONS, AGENT_ALREADY_RUNNING */
export const start = async (
  tx: Transaction,
  agents: Agents,
  card: CardRow,
  by: Starter,
): Promise<SessionRow | undefined> =>
  begin(tx, agents, card, by, await firstPrompt(tx, card), card.kind === 'terminal' ? 'terminal' : 'work')

/** Asks an ended session to go on: it waits for its turn again. @throws Problem INSUFFICIENT_PERMISSIONS, AGENT_ALREADY_RUNNING */
export async function reopen(tx: Transaction, agents: Agents, session: SessionRow, by: Starter): Promise<SessionRow> {
  requireMayStart(by, session.purpose === 'terminal' ? 'terminal' : 'kanban')
  const open = await listOpenSessions(tx, session.cardId)
  if (open.some(({ purpose }) => (purpose === 'pre') === (session.purpose === 'pre')))
    throw new Problem('AGENT_ALREADY_RUNNING')
  await updateSession(tx, session.id, {
    status: 'queued',
    statusReason: null,
    detail: null,
    endedAt: null,
    waitingFor: null,
  })
  agents.look(tx)
  return announce(tx, session.id, { deferred: false }, { type: 'queued', detail: session.agent })
}

/** Notes that an open session runs, or waits for a person. Undefined when it has ended meanwhile. */
export async function change(
  tx: Transaction,
  id: number,
  to: SessionChange & { status: 'running' | 'waiting' },
  type: string,
  detail: string | null = null,
): Promise<SessionRow | undefined> {
  const session = await readSession(tx, id)
  if (!session || session.endedAt !== null) return undefined
  await updateSession(tx, id, { ...to, ...(session.startedAt === null && { startedAt: tx.now }) })
  return announce(tx, id, {}, { type, detail })
}

/**
 * Ends an open session with its tokens. Messages that wait for it are kept for whoever goes on, unless it is cancelled.
 * With `unread` the card becomes so. Undefined when it has ended already.
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
  await updateSession(tx, id, { statusReason: null, detail: null, ...ending, waitingFor: null, endedAt: tx.now })
  if (ending.status === 'cancelled') await deleteWaitingMessages(tx, id)
  await agents.revokeTokens(tx, { sessionId: id })
  agents.ended(tx, id)
  return announce(tx, id, unread ? { unread } : {}, { type: ending.status, detail: ending.detail ?? null })
}

/** Ends a card's active execution because a person wants it so: its tokens and its open session; with `all` its pre-session too. */
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

/** Tells of a session's new status, and takes it over to its card unless it is a pre-session. */
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
