import type { CredentialProvider } from '../../contract/accounts/credentials.ts'
import { Problem } from '../../contract/errors.ts'
import type { CardStatus } from '../../contract/fields.ts'
import { appendAgentEvent } from '../../events/agentEvent.ts'
import { readCard, type CardChange, type CardRow } from '../../store/cards/cards.ts'
import type { Reader, Transaction } from '../../store/engine/database.ts'
import {
  insertSession,
  listOpenSessions,
  readLatestSession,
  readSession,
  updateSession,
  type SessionChange,
  type NewSession,
  type SessionRow,
} from '../../store/agents/sessions.ts'
import { isSideSession, trackOf, type SessionPurpose } from '../../store/agents/sessionPurposes.ts'
import { deleteWaitingMessages } from '../../store/agents/waitingMessages.ts'
import { agentSession } from '../../views/agents.ts'
import { recordRunEnd, recordRunStart } from '../cards/activity.ts'
import { requireBudget } from './budgetState.ts'
import { changeCardIfThere } from '../cards/cardChanges.ts'
import { noAccount } from '../accounts/caller.ts'
import { mayBecome, type EndedStatus } from './sessionStates.ts'
import { requireMayStart, type Starter } from '../cards/startPermission.ts'
import { firstPrompt } from '../cards/pipelineSteps.ts'

/** The agent chosen for a card. */
export interface ChosenAgent {
  agent: string
  profile: string | null
  /** The agent's credential in this project. Null for the account's own sign-in with the agent. */
  credentialId: number | null
  /** Whether the session must use that credential instead of the one chosen for its card when it starts. */
  isAsked: boolean
  /** Why the agent differs from the card's levels. */
  remark: string | null
}

/** The functions of the agent supervisor that the rules of cards use. */
export interface Agents {
  /** The agent for a card, or the reason why there is none. */
  choose(db: Reader, card: CardRow): Promise<ChosenAgent | { missing: string }>
  /** Why an agent does not support a provider's credentials. Undefined if it does, or if the agent is unknown. */
  credentialProblem(agent: string, provider: CredentialProvider): Promise<string | undefined>
  /** The IDs of the built-in and configured agents. @throws Problem CONFLICT if config.json is not valid */
  listIds(): Promise<readonly string[]>
  /** The display name of an agent. */
  nameOf(agent: string): Promise<string>
  /** Ends the agent tokens of a card or a session; their sockets are closed after the commit. */
  revokeTokens(tx: Transaction, of: { cardId: number } | { sessionId: number }): Promise<void>
  /** After the commit: starts queued sessions that have a slot, and ends processes whose sessions have ended. */
  reconcile(tx: Transaction): void
  /** After the commit: ends the processes of a session. */
  terminate(tx: Transaction, sessionId: number): void
}

/** The end of a session. */
export type Ending = Pick<SessionChange, 'statusReason' | 'detail' | 'summary' | 'filesChanged' | 'limitEndsAt'> & {
  status: EndedStatus
}
/** A card's `lastAgentAction`, before it is stored as JSON. */
type Action = { type: string; detail: string | null }

/** The end of a session that a user cancels. */
export const cancelled: Ending = { status: 'cancelled', statusReason: 'cancelled' }

/** A card's own open session. */
export const findOpen = async (db: Reader, cardId: number): Promise<SessionRow | undefined> =>
  (await listOpenSessions(db, cardId)).find(({ purpose }) => !isSideSession(purpose))

/**
 * - `waitsForBudget`: if a budget is exhausted, the session waits for it.
 * - `waitsForBlockers`: if its card gets blockers before the work starts, the session waits for them.
 */
interface StartOptions {
  waitsForBudget?: boolean
  waitsForBlockers?: boolean
}

/**
 * Queues a new session. If no agent can run it, stores the missing part as the card's last action instead. A session that the board begins
 * automatically waits while a budget is used up.
 * @throws Problem INSUFFICIENT_PERMISSIONS, AGENT_ALREADY_RUNNING, BUDGET_EXHAUSTED
 */
export async function begin(
  tx: Transaction,
  agents: Agents,
  card: CardRow,
  by: Starter,
  prompt: string,
  purpose: SessionPurpose = 'work',
  { waitsForBudget = by === 'board', waitsForBlockers = false }: StartOptions = {},
): Promise<SessionRow | undefined> {
  requireMayStart(by, card.kind)
  await requireNoneOpen(tx, card.id, purpose)
  const choice = purpose === 'terminal' ? shell : await agents.choose(tx, card)
  if ('missing' in choice) {
    await changeCardIfThere(tx, card, { lastAgentAction: notStarted(tx, { message: choice.missing }) })
    return undefined
  }
  if (!waitsForBudget && purpose !== 'terminal')
    await requireBudget(tx, { cardId: card.id, projectId: card.projectId, credentialId: choice.credentialId })
  return queue(tx, agents, card, choice, {
    purpose,
    prompt,
    waitsForBlockers,
    starterId: await starterOf(tx, card, by),
  })
}

/** @throws Problem AGENT_ALREADY_RUNNING if another session of a card is open in the track of the purpose */
async function requireNoneOpen(tx: Transaction, cardId: number, purpose: SessionPurpose, except = 0): Promise<void> {
  const open = await listOpenSessions(tx, cardId)
  if (open.some(other => other.id !== except && trackOf(other.purpose) === trackOf(purpose)))
    throw new Problem('AGENT_ALREADY_RUNNING')
}

/** The account that a session starts for: the caller's, or, if the board continues automatically, that of the earlier work. */
export async function starterOf(tx: Transaction, card: CardRow, by: Starter): Promise<number | null> {
  if (by !== 'board') return by.userId === noAccount ? null : by.userId
  return (await readLatestSession(tx, card.id))?.starterId ?? card.creatorId
}

const shell: ChosenAgent = { agent: 'terminal', profile: null, credentialId: null, isAsked: false, remark: null }

/** Queues a session of a chosen agent. */
export async function queue(
  tx: Transaction,
  agents: Agents,
  card: Pick<CardRow, 'id' | 'projectId'>,
  { agent, profile, credentialId, isAsked, remark }: ChosenAgent,
  session: Pick<
    NewSession,
    'purpose' | 'prompt' | 'notBefore' | 'limitWaits' | 'statusReason' | 'starterId' | 'waitsForBlockers'
  >,
): Promise<SessionRow> {
  const id = await insertSession(tx, {
    ...session,
    projectId: card.projectId,
    cardId: card.id,
    agent,
    profile,
    credentialId,
    askedCredentialId: isAsked ? credentialId : null,
    detail: remark,
    status: 'queued',
  })
  agents.reconcile(tx)
  recordRunStart(tx, { cardId: card.id, purpose: session.purpose ?? 'work', agent })
  return announce(tx, id, begun, { type: 'queued', detail: remark ?? agent })
}

/** A card whose start was requested no longer waits for a start, a time, or capacity in another column. */
const begun = { deferred: false, startHeld: false, nextColumnId: null } as const

/** Neither a slot nor a wait for one. */
export const noSlot = { slotTakenAt: null, slotAwaitedAt: null, slotWait: null } as const
/** No wait for a usage limit. */
export const noLimit = { notBefore: null, limitEndsAt: null, limitWaits: 0 } as const
/** No wait for the model. */
export const noWait = { silentSince: null, retrying: null } as const

/** The last action of a card whose agent could not be started. */
export const notStarted = (tx: Transaction, { message }: Pick<Problem, 'message'>): string =>
  action(tx, { type: 'not_started', detail: message })

/**
 * Starts a card's agent with the prompts of its step and of the card, or a terminal card's shell command.
 * @throws Problem INSUFFICIENT_PERMISSIONS, AGENT_ALREADY_RUNNING
 */
export const start = async (
  tx: Transaction,
  agents: Agents,
  card: CardRow,
  by: Starter,
  options?: StartOptions,
): Promise<SessionRow | undefined> =>
  begin(tx, agents, card, by, await firstPrompt(tx, card), card.kind === 'terminal' ? 'terminal' : 'work', options)

/**
 * Queues an ended session, or one that waits without a run, again, so that its agent resumes it.
 * @throws Problem INSUFFICIENT_PERMISSIONS, AGENT_ALREADY_RUNNING, BUDGET_EXHAUSTED
 */
export async function reopen(tx: Transaction, agents: Agents, session: SessionRow, by: Starter): Promise<SessionRow> {
  requireMayStart(by, session.purpose === 'terminal' ? 'terminal' : 'kanban')
  await requireNoneOpen(tx, session.cardId, session.purpose, session.id)
  if (session.purpose !== 'terminal') await requireBudget(tx, session)
  const queued = {
    status: 'queued',
    statusReason: null,
    detail: null,
    endedAt: null,
    waitingFor: null,
    ...noLimit,
    ...noSlot,
    ...(by !== 'board' && by.userId !== noAccount && { starterId: by.userId }),
  } as const
  if (!(await changeStatus(tx, session, queued))) throw new Problem('CONFLICT', 'The session has ended.')
  agents.reconcile(tx)
  recordRunStart(tx, session)
  return announce(tx, session.id, begun, { type: 'queued', detail: session.agent })
}

/** Marks an open session as running. Undefined if it has ended in the meantime. */
export const markRunning = (tx: Transaction, id: number): Promise<SessionRow | undefined> =>
  markOpen(
    tx,
    id,
    { status: 'running', statusReason: null, waitingFor: null, notBefore: null, limitEndsAt: null },
    null,
  )

/**
 * Marks an open session as waiting for a user. `waitingFor` is the JSON of all its questions, `question` the title of the oldest.
 */
export const markWaiting = (
  tx: Transaction,
  id: number,
  waitingFor: string,
  question: string,
): Promise<SessionRow | undefined> => markOpen(tx, id, { status: 'waiting', statusReason: null, waitingFor }, question)

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
 * Ends an open session and revokes its tokens. Waiting messages are kept for its successor, unless it is cancelled. `unread`
 * marks the card as unread. Undefined if the session has already ended.
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
  const ended = { statusReason: null, detail: null, ...noWait, ...ending, waitingFor: null, endedAt: tx.now }
  if (!(await changeStatus(tx, session, ended))) return undefined
  if (ending.status === 'cancelled') await deleteWaitingMessages(tx, id)
  await agents.revokeTokens(tx, { sessionId: id })
  agents.terminate(tx, id)
  recordRunEnd(tx, session, ending.status, await agents.nameOf(session.agent))
  const change = { ...(unread && { unread }), ...(await reviewAfter(tx, session, ending)) }
  return announce(tx, id, change, { type: ending.status, detail: ending.detail ?? null })
}

/** The review state after a session: new work needs a new review, and voids an approval. Merged work is not new. */
async function reviewAfter(
  tx: Transaction,
  { projectId, cardId, purpose, startedAt }: SessionRow,
  { status }: Ending,
): Promise<Pick<CardChange, 'reviewState'> | undefined> {
  if (purpose !== 'work' || startedAt === null) return undefined
  const { mergedAt, reviewState: state } = (await readCard(tx, projectId, cardId)) ?? {}
  const isDue = state === 'approved' || (state === 'changes_requested' && status === 'completed')
  return isDue && !mergedAt ? { reviewState: 'pending' } : undefined
}

/** Changes a session's status; no other function does. Returns false if the state machine does not allow the transition. */
export async function changeStatus(
  tx: Transaction,
  { id, status }: SessionRow,
  to: SessionChange & { status: CardStatus },
): Promise<boolean> {
  if (!mayBecome(status, to.status)) return false
  await updateSession(tx, id, to)
  return true
}

/** Ends a card's open session and revokes the card's tokens at a user's request. `all` also ends its side sessions. */
export async function endCard(
  tx: Transaction,
  agents: Agents,
  cardId: number,
  ending: Ending,
  { all = false } = {},
): Promise<void> {
  for (const open of await listOpenSessions(tx, cardId))
    if (all || !isSideSession(open.purpose)) await end(tx, agents, open.id, ending)
  await agents.revokeTokens(tx, { cardId })
}

/** Appends the event of a session's new status, and copies the status to the card if it is the card's latest own session. */
export async function announce(tx: Transaction, id: number, card: CardChange, did: Action): Promise<SessionRow> {
  const session = (await readSession(tx, id))!
  await appendAgentEvent(tx, 'agent.status', session, agentSession(session))
  if (isSideSession(session.purpose) || (await readLatestSession(tx, session.cardId))?.id !== id) return session
  const { status, statusReason, startedAt, endedAt } = session
  await changeCardIfThere(
    tx,
    { id: session.cardId, projectId: session.projectId },
    { ...card, status, statusReason, startedAt, endedAt, lastAgentAction: action(tx, did) },
  )
  return session
}

const action = (tx: Transaction, { type, detail }: Action): string => JSON.stringify({ type, at: tx.now, detail })
