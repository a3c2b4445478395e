import { Problem } from '../../contract/errors.ts'
import type { Transaction } from '../../store/engine/database.ts'
import { addCreatedCard, readMaxSessionCards } from '../../store/agents/sessionCards.ts'
import type { Caller } from '../accounts/caller.ts'

/**
 * Counts a card that an agent creates, on the agent's session. People and API keys have no such limit.
 * @throws Problem CARD_LIMIT_REACHED if the session has created as many as the project allows
 */
export async function countSessionCard(tx: Transaction, projectId: number, caller: Caller): Promise<void> {
  if (!caller.agent) return
  const max = await readMaxSessionCards(tx, projectId)
  const created = await addCreatedCard(tx, { sessionId: caller.agent.sessionId, tokenHash: caller.tokenHash })
  if (created > max)
    throw new Problem(
      'CARD_LIMIT_REACHED',
      `A session of this project can create at most ${max === 1 ? 'one card' : `${max} cards`}. Put the rest into the prompt of a card, or ask a person to raise the limit (board projects edit --session-cards).`,
    )
}
