import { Problem } from '../../contract/errors.ts'
import type { Caller } from '../../domain/caller.ts'
import * as cards from '../../domain/cards.ts'
import { begin, cancelled, end, findOpen, reopen, requireStartable, start } from '../../domain/sessions.ts'
import { firstPrompt } from '../../domain/steps.ts'
import type { CardRow } from '../../store/cards.ts'
import type { Database, Transaction } from '../../store/database.ts'
import { readLatestSession, type SessionRow } from '../../store/sessions.ts'
import { insertWaitingMessage, moveWaitingMessages } from '../../store/waitingMessages.ts'
import type { MessageView } from '../../views/agents.ts'
import { condense } from '../transcript/lastMessage.ts'
import { lastMessageOf, withRecap } from '../transcript/resumePrompt.ts'
import type { LiveSession } from './sessionRun.ts'
import type { Supervisor } from './agentSupervisor.ts'
import { addMessage } from '../transcript/transcriptWriter.ts'

const summaryWithinMs = 30_000
const summaryRequest =
  'Summarize in at most five sentences, for somebody who has not followed: what you have done so far, what is left, and what to look at. Answer with nothing else, and use no tools.'

/**
 * Sends a message to a card's agent. During a turn it waits for the turn's end; a session that has ended goes on with it
 * where the agent can resume, else a new one begins with it.
 * @throws Problem CARD_NOT_FOUND, INSUFFICIENT_PERMISSIONS, AGENT_UNAVAILABLE, CONFLICT for archived and terminal cards
 */
export async function send(
  tx: Transaction,
  supervisor: Supervisor,
  ref: cards.StartRef,
  content: string,
): Promise<MessageView> {
  const card = await findForWork(tx, ref)
  if (card.kind === 'terminal') throw new Problem('CONFLICT', 'A terminal card takes no messages.')
  const session = (await findOpen(tx, card.id)) ?? (await goOnOrBegin(tx, supervisor, card, ref.caller))
  return tell(tx, session, content)
}

/** Puts a message into a session's transcript and in line for its agent. */
export async function tell(tx: Transaction, session: SessionRow, content: string): Promise<MessageView> {
  const view = await addMessage(tx, { ...session, isPre: session.purpose === 'pre' }, 'user', content)
  await insertWaitingMessage(tx, { sessionId: session.id, content, messageId: Number(view.id) })
  return view
}

/** Cancels a card's agent; files that it wrote stay. @throws Problem CARD_NOT_FOUND, AGENT_NOT_RUNNING */
export async function cancel(tx: Transaction, supervisor: Supervisor, ref: cards.CardRef): Promise<void> {
  const open = await findOpen(tx, (await cards.find(tx, ref)).id)
  if (!open || !(await end(tx, supervisor, open.id, cancelled))) throw new Problem('AGENT_NOT_RUNNING')
}

/** Goes on with a card's latest session, in a new one where the agent cannot resume. @throws Problem CARD_NOT_FOUND, INSUFFICIENT_PERMISSIONS, AGENT_ALREADY_RUNNING, AGENT_UNAVAILABLE, CONFLICT */
export async function retry(tx: Transaction, supervisor: Supervisor, ref: cards.StartRef): Promise<void> {
  const card = await findForWork(tx, ref)
  await requireNoneOpen(tx, card)
  await goOnOrBegin(tx, supervisor, card, ref.caller)
}

/** Starts a new session. @throws Problem CARD_NOT_FOUND, INSUFFICIENT_PERMISSIONS, AGENT_ALREADY_RUNNING, AGENT_UNAVAILABLE, CONFLICT */
export async function relaunch(tx: Transaction, supervisor: Supervisor, ref: cards.StartRef): Promise<void> {
  const card = await findForWork(tx, ref)
  await requireNoneOpen(tx, card)
  await requireStartable(tx, supervisor, card, ref.caller)
  await start(tx, supervisor, card, ref.caller)
}

/** Has a card's running session hand over to a fresh one. @throws Problem CARD_NOT_FOUND, AGENT_NOT_RUNNING */
export async function relay(db: Database, supervisor: Supervisor, ref: cards.CardRef): Promise<void> {
  const live = await findLive(db, supervisor, ref)
  if (!live || live.purpose === 'terminal') throw new Problem('AGENT_NOT_RUNNING')
  live.relay()
}

/**
 * Answers an open plan or permission request of a card's agent: the one that `requestId` names, else the only one; and tells what it was.
 * Feedback is the agent's next message.
 * @throws Problem CARD_NOT_FOUND, NOTHING_TO_APPROVE when it is not open any more, CONFLICT when several are and none is named
 */
export async function approvePlan(
  db: Database,
  supervisor: Supervisor,
  ref: cards.CardRef,
  { approved, feedback, requestId }: { approved: boolean; feedback?: string; requestId?: string },
): Promise<{ waitingFor: string }> {
  const card = await cards.find(db, ref)
  const open = await findOpen(db, card.id)
  const live = open && supervisor.live(open.id)
  if (!live || open.waitingFor === null) throw new Problem('NOTHING_TO_APPROVE')
  const question = live.question(requestId)
  if (feedback?.trim()) await db.transaction(tx => tell(tx, open, feedback))
  if (!(await live.answer(question.id, approved))) throw new Problem('NOTHING_TO_APPROVE')
  return { waitingFor: question.title }
}

/** What was done on a card: asked of its agent while one is at work, else what the agent said last. Empty when no agent ever said a word. @throws Problem CARD_NOT_FOUND */
export async function summarize(db: Database, supervisor: Supervisor, ref: cards.CardRef): Promise<string> {
  const live = await findLive(db, supervisor, ref)
  const asked = live && live.purpose !== 'terminal' ? await within(live.ask(summaryRequest)) : undefined
  if (asked) return asked
  const latest = await readLatestSession(db, ref.cardId)
  return latest ? condense(await lastMessageOf(db, latest)) || latest.summary || '' : ''
}

async function within(answer: Promise<string>): Promise<string | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>(resolve => {
    timer = setTimeout(resolve, summaryWithinMs, undefined)
  })
  return Promise.race([answer.catch(() => undefined), late]).finally(() => clearTimeout(timer))
}

async function goOnOrBegin(tx: Transaction, supervisor: Supervisor, card: CardRow, by: Caller): Promise<SessionRow> {
  const latest = await readLatestSession(tx, card.id)
  if (latest?.resumable === 1 && latest.agentSessionId !== null) return reopen(tx, supervisor, latest, by)
  await requireStartable(tx, supervisor, card, by)
  if (!latest || card.kind === 'terminal') return (await start(tx, supervisor, card, by)) ?? refuse('AGENT_UNAVAILABLE')
  const begun =
    (await begin(tx, supervisor, card, by, await withRecap(tx, await firstPrompt(tx, card), latest), latest.purpose)) ??
    refuse('AGENT_UNAVAILABLE')
  await moveWaitingMessages(tx, latest.id, begun.id)
  return begun
}

async function findLive(db: Database, supervisor: Supervisor, ref: cards.CardRef): Promise<LiveSession | undefined> {
  const open = await findOpen(db, (await cards.find(db, ref)).id)
  return open && supervisor.live(open.id)
}

async function findForWork(tx: Transaction, ref: cards.CardRef): Promise<CardRow> {
  const card = await cards.find(tx, ref)
  return card.archivedAt === null ? card : refuse('CONFLICT', 'The card is archived; bring it back first.')
}

async function requireNoneOpen(tx: Transaction, card: CardRow): Promise<void> {
  if (await findOpen(tx, card.id)) refuse('AGENT_ALREADY_RUNNING')
}

function refuse(code: 'CONFLICT' | 'AGENT_ALREADY_RUNNING' | 'AGENT_UNAVAILABLE', message?: string): never {
  throw new Problem(code, message)
}
