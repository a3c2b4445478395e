import { Problem } from '../../../contract/errors.ts'
import { monitorRequestId } from '../../../contract/automation/monitors.ts'
import { actorOf } from '../../../domain/cards/activity.ts'
import type { Caller } from '../../../domain/accounts/caller.ts'
import * as cards from '../../../domain/cards/cards.ts'
import { answerQuestion } from '../../../domain/automation/monitorQuestions.ts'
import { findOpen, reopen } from '../../../domain/agents/sessions.ts'
import { isAsking } from '../../../domain/agents/sessionStates.ts'
import { awaitAnswer } from '../../../domain/agents/sessionWaits.ts'
import type { Database, Transaction } from '../../../store/engine/database.ts'
import { listAskedMonitors, type MonitorRow } from '../../../store/automation/monitors.ts'
import { readSession, type SessionRow } from '../../../store/agents/sessions.ts'
import { agentState } from '../../../views/agents.ts'
import { monitorRequest } from '../../../views/monitors.ts'
import type { Supervisor } from '../agentSupervisor.ts'
import { answerFor, findQuestion, type Answer, type AskedQuestion } from './openQuestions.ts'
import { messageOfAnswer, wordsOf } from './personQuestions.ts'
import { queueMessage } from '../queue/queuedMessages.ts'

/**
 * Answers an open question of a card's agent or of one of its monitors: the question with the ID `requestId`, or the only open
 * one. The answer is the option with the ID `optionId`, a text, or the option that applies once. Returns the question and the
 * option. Feedback becomes the agent's next message, or is added to the answer to a text question.
 * @throws Problem CARD_NOT_FOUND, NOTHING_TO_APPROVE if the question is no longer open, CONFLICT if several are open and none is
 * named, VALIDATION_FAILED for an answer that is not offered, INSUFFICIENT_PERMISSIONS to allow a monitor without the permission
 * to run scripts, BUDGET_EXHAUSTED if the answer would continue an ended turn
 */
export async function approvePlan(
  db: Database,
  supervisor: Supervisor,
  { caller, ...ref }: cards.CardRef & { caller: Caller },
  { feedback = '', requestId, ...given }: Answer & { feedback?: string; requestId?: string },
): Promise<{ waitingFor: string; command: string | null; option: string | null }> {
  const card = await cards.find(db, ref)
  const [open, monitors] = [await findOpen(db, card.id), await listAskedMonitors(db, card.id)]
  const isEnded = open !== undefined && isAsking(open)
  const waiting = isEnded ? questionsOf(open) : []
  // The run of an ended turn can still be closing with the same questions.
  const run = open && !isEnded && open.waitingFor !== null ? supervisor.runOf(open.id) : undefined
  const question = findQuestion(
    [...waiting, ...(run?.questions.open() ?? []), ...monitors.map(monitorRequest)],
    requestId,
  )
  const answer = answerFor(question, given)
  const monitor = monitors.find(({ id }) => monitorRequestId(id) === question.id)
  const comment = feedback.trim()
  const answerEnded = () =>
    db.transaction(
      tx => answerEndedTurn(tx, supervisor, open!.id, question, wordsOf(question, answer, comment), caller),
      actorOf(caller),
    )
  if (monitor)
    await db.transaction(
      tx => answerMonitor(tx, monitor, { approved: given.approved, feedback: comment, caller }),
      actorOf(caller),
    )
  else if (waiting.includes(question)) await answerEnded()
  // If the turn has ended in the meantime, the answer is queued.
  else if (!(await run!.questions.answer(question.id, answer, comment))) await answerEnded()
  return { waitingFor: question.title, command: question.command, option: answer.optionId }
}

/** The questions with which a session's turn has ended. */
const questionsOf = (session: SessionRow): AskedQuestion[] =>
  agentState(session).questions.map(({ requestId, ...asked }) => ({ id: requestId, ...asked }))

/** Queues the answer for a session whose turn has ended. The session continues after the answer to its last question. */
async function answerEndedTurn(
  tx: Transaction,
  supervisor: Supervisor,
  sessionId: number,
  { id, title }: AskedQuestion,
  words: ReturnType<typeof wordsOf>,
  caller: Caller,
): Promise<void> {
  const session = await readSession(tx, sessionId)
  const questions = session && isAsking(session) ? agentState(session).questions : []
  const [next, ...others] = questions.filter(({ requestId }) => requestId !== id)
  if (!session || questions.every(({ requestId }) => requestId !== id)) throw new Problem('NOTHING_TO_APPROVE')
  await queueMessage(tx, session, messageOfAnswer(title, words))
  if (next) await awaitAnswer(tx, supervisor, session, [next, ...others], session)
  else await reopen(tx, supervisor, session, caller)
}

/** Allows or rejects a monitor. A working agent gets the feedback, and is always notified of a rejection. */
async function answerMonitor(
  tx: Transaction,
  { id, cardId, command }: MonitorRow,
  answer: { approved: boolean; feedback: string; caller: Caller },
): Promise<void> {
  const { error } = await answerQuestion(tx, id, answer)
  const session = await findOpen(tx, cardId)
  const message = answer.approved ? answer.feedback : `Monitor ${id} does not run: ${command}\n\n${error}`
  if (session && message) await queueMessage(tx, session, message)
}
