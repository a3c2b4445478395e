import type { InferOutput } from 'valibot'
import type { ContextRelay } from '../../../contract/accounts/settings.ts'
import { begin, end, type Agents } from '../../../domain/agents/sessions.ts'
import { listQuestions } from '../../../domain/agents/sessionWaits.ts'
import { firstPrompt } from '../../../domain/cards/pipelineSteps.ts'
import { readCard } from '../../../store/cards/cards.ts'
import type { Transaction } from '../../../store/engine/database.ts'
import type { SessionRow } from '../../../store/agents/sessions.ts'
import { moveWaitingMessages } from '../../../store/agents/waitingMessages.ts'
import { toSummary } from '../../transcript/lastMessage.ts'

/** The public name of a handoff is relay, in the setting, the route and the command. */
export type HandoffSettings = InferOutput<typeof ContextRelay>

/** A rough measure, because tokens differ between models. */
const charsPerToken = 4

/** The last prompt of a session that hands off. */
export const handoffRequest = ({ maxSummaryTokens }: HandoffSettings): string =>
  `Your session ends here, and a fresh one continues the task. The fresh session does not have this conversation. Write down for it, in at most ${maxSummaryTokens} tokens: ` +
  'the goal, what is done, what was decided and why, what is left to do, which files matter, and what to watch out for. Answer with nothing else, and use no tools.'

/** The open questions for the successor session, which must ask them again, because questions to users end with their session. */
function openQuestions(session: SessionRow): string {
  const texts = listQuestions(session).map(({ title, plan }) => `- ${plan ?? title}`)
  return texts.length === 0
    ? ''
    : `\n\nThese questions to users are unanswered. Ask again if you need the answers:\n\n${texts.join('\n')}`
}

/** The first prompt of the successor session. */
const handoffPrompt = (task: string, handoff: string, { maxSummaryTokens }: HandoffSettings): string =>
  `You take over from an earlier session. It left this handoff:\n\n${handoff.slice(0, maxSummaryTokens * charsPerToken).toWellFormed()}\n\nContinue the task:\n\n${task}`

/**
 * Completes a session and starts its successor, which takes over the task and the waiting messages. Returns undefined if the
 * session has already ended.
 */
export async function completeWithHandoff(
  tx: Transaction,
  agents: Agents,
  session: SessionRow,
  handoff: string,
  settings: HandoffSettings,
): Promise<SessionRow | undefined> {
  const card = await readCard(tx, session.projectId, session.cardId)
  if (!card) return undefined
  const detail = 'Handed over to a fresh session.'
  if (!(await end(tx, agents, session.id, { status: 'completed', summary: toSummary(handoff), detail })))
    return undefined
  const prompt = handoffPrompt(await firstPrompt(tx, card), handoff, settings) + openQuestions(session)
  const next = await begin(tx, agents, card, 'board', prompt, session.purpose)
  if (next) await moveWaitingMessages(tx, session.id, next.id)
  return next
}
