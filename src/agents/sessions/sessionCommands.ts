import type { MessageInput } from '../../contract/agents/agentMessages.ts'
import { Problem, refuse } from '../../contract/errors.ts'
import { hasBegun } from '../../domain/agents/budgetPauses.ts'
import { isAsking, isPaused } from '../../domain/agents/sessionStates.ts'
import { requireBudget } from '../../domain/agents/budgetState.ts'
import { changeCard } from '../../domain/cards/cardChanges.ts'
import * as cards from '../../domain/cards/cards.ts'
import { requireUnblocked } from '../../domain/cards/dependencies.ts'
import { begin, cancelled, end, findOpen, reopen, start } from '../../domain/agents/sessions.ts'
import { requireStartable } from '../../domain/cards/startOrHold.ts'
import { startNow } from '../../domain/agents/sessionWaits.ts'
import { requireMayStart, type Starter } from '../../domain/cards/startPermission.ts'
import { firstPrompt } from '../../domain/cards/pipelineSteps.ts'
import type { CardRow } from '../../store/cards/cards.ts'
import type { Database, Transaction } from '../../store/engine/database.ts'
import { readLatestSession, type SessionRow } from '../../store/agents/sessions.ts'
import type { MessageView } from '../../views/agents.ts'
import { toSummary } from '../transcript/lastMessage.ts'
import { readLastMessage } from '../transcript/resumePrompt.ts'
import type { Supervisor } from './agentSupervisor.ts'
import { findGiven } from './prompts/promptFiles.ts'
import { handOver, promptAfter, queueMessage } from './queue/queuedMessages.ts'
import type { SessionRun } from './sessionRun.ts'

const summaryTimeoutMs = 30_000
const summaryRequest =
  'Summarize your work in at most five sentences, for a reader who did not follow it: what you have done, what is left, and what to review. Answer with only the summary, and do not use tools.'

/**
 * Sends a message to a card's agent. During a turn, the message waits for the turn's end. An ended session is reopened if the
 * agent can resume it; otherwise a new one starts. A session that waits for an answer after its turn is always reopened.
 * @throws Problem CARD_NOT_FOUND, ATTACHMENT_NOT_FOUND, INSUFFICIENT_PERMISSIONS, AGENT_UNAVAILABLE, CARD_BLOCKED before the
 * card's work has started, BUDGET_EXHAUSTED, CONFLICT for archived and terminal cards
 */
export async function send(
  tx: Transaction,
  supervisor: Supervisor,
  ref: cards.StartRef,
  { content, attachmentIds }: MessageInput,
): Promise<MessageView> {
  const card = await findForWork(tx, ref)
  if (card.kind === 'terminal') throw new Problem('CONFLICT', 'Terminal cards do not accept messages.')
  const given = await findGiven(tx, attachmentIds, { projectId: card.projectId, cardId: card.id })
  const open = await findOpen(tx, card.id)
  if (open && !isAsking(open)) await requireBudget(tx, open, hasBegun(open))
  const session = open && !isAsking(open) ? open : await reopenOrBegin(tx, supervisor, card, ref.caller)
  if (card.gateRounds > 0) await changeCard(tx, card, { gateRounds: 0 })
  return queueMessage(tx, session, content, given)
}

/**
 * Sends a message of the board to a card's agent, which continues its last session or starts a new one.
 * @throws Problem AGENT_UNAVAILABLE, BUDGET_EXHAUSTED, CARD_BLOCKED
 */
export async function continueWork(
  tx: Transaction,
  supervisor: Supervisor,
  card: CardRow,
  content: string,
): Promise<void> {
  await queueMessage(tx, await reopenOrBegin(tx, supervisor, card, 'board'), content)
}

/** Cancels a card's agent. Files that the agent wrote stay. @throws Problem CARD_NOT_FOUND, AGENT_NOT_RUNNING */
export async function cancel(tx: Transaction, supervisor: Supervisor, ref: cards.CardRef): Promise<void> {
  const open = await findOpen(tx, (await cards.find(tx, ref)).id)
  if (!open || !(await end(tx, supervisor, open.id, cancelled))) throw new Problem('AGENT_NOT_RUNNING')
}

/**
 * Reopens a card's latest session, or starts a new one if the agent cannot resume. A session that waits for the end of a usage limit starts
 * now.
 * @throws Problem CARD_NOT_FOUND, INSUFFICIENT_PERMISSIONS, AGENT_ALREADY_RUNNING, AGENT_UNAVAILABLE, CARD_BLOCKED without `force`,
 * CONFLICT
 */
export async function retry(
  tx: Transaction,
  supervisor: Supervisor,
  ref: cards.StartRef,
  force = false,
): Promise<void> {
  const card = await findForWork(tx, ref)
  requireMayStart(ref.caller, card.kind)
  const open = await findOpen(tx, card.id)
  if (open && (await startNow(tx, supervisor, open, force))) return
  if (open?.statusReason === 'blocked') await requireUnblocked(tx, card)
  if (!open || !isAsking(open)) await requireNoneOpen(tx, card)
  if (!force) await requireUnblocked(tx, card)
  await reopenOrBegin(tx, supervisor, card, ref.caller, force)
}

/**
 * Starts a new session.
 * @throws Problem CARD_NOT_FOUND, INSUFFICIENT_PERMISSIONS, AGENT_ALREADY_RUNNING, AGENT_UNAVAILABLE, CARD_BLOCKED without `force`,
 * CONFLICT
 */
export async function relaunch(
  tx: Transaction,
  supervisor: Supervisor,
  ref: cards.StartRef,
  force = false,
): Promise<void> {
  const card = await findForWork(tx, ref)
  if (!force) await requireUnblocked(tx, card)
  await requireNoneOpen(tx, card)
  await requireStartable(tx, supervisor, card, ref.caller)
  await start(tx, supervisor, card, ref.caller, { waitsForBlockers: !force })
}

/** Hands a card's running session off to a fresh one. @throws Problem CARD_NOT_FOUND, AGENT_NOT_RUNNING */
export async function requestHandoff(db: Database, supervisor: Supervisor, ref: cards.CardRef): Promise<void> {
  const run = await findRun(db, supervisor, ref)
  if (!run || run.purpose === 'terminal') throw new Problem('AGENT_NOT_RUNNING')
  run.requestHandoff()
}

/**
 * A summary of the work on a card: written by its agent while it runs, otherwise the agent's last message. Empty if there is none.
 * @throws Problem CARD_NOT_FOUND
 */
export async function summarizeWork(db: Database, supervisor: Supervisor, ref: cards.CardRef): Promise<string> {
  const run = await findRun(db, supervisor, ref)
  const answered = run && run.purpose !== 'terminal' ? await answerInTime(run.ask(summaryRequest)) : undefined
  if (answered) return answered
  const latest = await readLatestSession(db, ref.cardId)
  return latest ? toSummary(await readLastMessage(db, latest)) || latest.summary || '' : ''
}

async function answerInTime(answer: Promise<string>): Promise<string | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>(resolve => {
    timer = setTimeout(resolve, summaryTimeoutMs, undefined)
  })
  return Promise.race([answer.catch(() => undefined), late]).finally(() => clearTimeout(timer))
}

/** Continues a card's work. Without `force`, work that has not started waits for the cards that block this one. */
async function reopenOrBegin(
  tx: Transaction,
  supervisor: Supervisor,
  card: CardRow,
  by: Starter,
  force = false,
): Promise<SessionRow> {
  const latest = await readLatestSession(tx, card.id)
  const waitsForBlockers = !force && (latest?.startedAt ?? null) === null
  if (waitsForBlockers) await requireUnblocked(tx, card)
  if (latest && (isAsking(latest) || (latest.resumable === 1 && latest.agentSessionId !== null)))
    return reopen(tx, supervisor, latest, by)
  await requireStartable(tx, supervisor, card, by)
  if (!latest || card.kind === 'terminal')
    return (await start(tx, supervisor, card, by, { waitsForBlockers })) ?? refuse('AGENT_UNAVAILABLE')
  const begun =
    (await begin(tx, supervisor, card, by, await promptAfter(tx, await firstPrompt(tx, card), latest), latest.purpose, {
      waitsForBlockers,
    })) ?? refuse('AGENT_UNAVAILABLE')
  await handOver(tx, latest, begun)
  return begun
}

async function findRun(db: Database, supervisor: Supervisor, ref: cards.CardRef): Promise<SessionRun | undefined> {
  const open = await findOpen(db, (await cards.find(db, ref)).id)
  return open && supervisor.runOf(open.id)
}

async function findForWork(tx: Transaction, ref: cards.CardRef): Promise<CardRow> {
  const card = await cards.find(tx, ref)
  return card.archivedAt === null ? card : refuse('CONFLICT', 'The card is archived. Unarchive it first.')
}

async function requireNoneOpen(tx: Transaction, card: CardRow): Promise<void> {
  const open = await findOpen(tx, card.id)
  if (open && isPaused(open)) await requireBudget(tx, open, hasBegun(open))
  if (open) refuse('AGENT_ALREADY_RUNNING')
}
