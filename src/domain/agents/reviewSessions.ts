import type { AgentChoice } from '../../contract/agents/agentChoice.ts'
import { Problem } from '../../contract/errors.ts'
import { listOpenSessions, type SessionRow } from '../../store/agents/sessions.ts'
import type { CardRow } from '../../store/cards/cards.ts'
import type { Transaction } from '../../store/engine/database.ts'
import { noChoice } from './agentChoice.ts'
import { requireBudget } from './budgetState.ts'
import { cancelled, end, queue, starterOf, type Agents } from './sessions.ts'

/**
 * Queues a session in which an agent reviews a card's files for a gate. It does not wait for a budget. It replaces one that is open, which a
 * server that was killed has left.
 * @param agent the agent and profile; if both are null, those of the card
 * @throws Problem AGENT_UNAVAILABLE, BUDGET_EXHAUSTED
 */
export async function beginReview(
  tx: Transaction,
  agents: Agents,
  card: CardRow,
  { agent, profile }: Pick<AgentChoice, 'agent' | 'profile'>,
  prompt: string,
): Promise<SessionRow> {
  for (const { id, purpose } of await listOpenSessions(tx, card.id))
    if (purpose === 'review') await end(tx, agents, id, cancelled)
  const isChosen = agent !== null || profile !== null
  const choice = await agents.choose(tx, isChosen ? { ...card, ...noChoice, agent, profile } : card)
  if ('missing' in choice) throw new Problem('AGENT_UNAVAILABLE', choice.missing)
  await requireBudget(tx, { cardId: card.id, projectId: card.projectId, credentialId: choice.credentialId })
  return queue(tx, agents, card, choice, { purpose: 'review', prompt, starterId: await starterOf(tx, card, 'board') })
}
