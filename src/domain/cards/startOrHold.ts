import { Problem } from '../../contract/errors.ts'
import { readCard, type CardRow } from '../../store/cards/cards.ts'
import type { Transaction } from '../../store/engine/database.ts'
import { holdBack } from '../agents/budgetPauses.ts'
import { asProblem, findExhausted } from '../agents/budgetState.ts'
import { findBlockade } from './dependencies.ts'
import { notStarted, start, type Agents } from '../agents/sessions.ts'
import { startRefusal, type Starter } from './startPermission.ts'

/**
 * The reason why a card's start is held back: its blockers or its time (unless `force`), the starter's permissions, a missing agent, or a
 * budget. Undefined if the card can start now.
 */
export const findHold = async (
  tx: Transaction,
  agents: Agents,
  card: CardRow,
  by: Starter | undefined,
  force = false,
): Promise<Problem | undefined> =>
  (force ? undefined : await findBlockade(tx, card, tx.now)) ?? (await findStartProblem(tx, agents, card, by))

/** The reason why a start is refused: the caller's permission, a missing agent, or a budget. Undefined if the caller can start the card. */
export async function findStartProblem(
  tx: Transaction,
  agents: Agents,
  card: CardRow,
  by: Starter | undefined,
): Promise<Problem | undefined> {
  const refused = startRefusal(by, card.kind)
  if (refused || card.kind === 'terminal') return refused
  const choice = await agents.choose(tx, card)
  if ('missing' in choice) return new Problem('AGENT_UNAVAILABLE', choice.missing)
  if (by === 'board') return undefined
  const spender = { cardId: card.id, projectId: card.projectId, credentialId: choice.credentialId }
  const exhausted = await findExhausted(tx, spender, tx.now)
  return exhausted && asProblem(exhausted)
}

/** @throws Problem INSUFFICIENT_PERMISSIONS, AGENT_UNAVAILABLE with the missing requirement, BUDGET_EXHAUSTED */
export async function requireStartable(tx: Transaction, agents: Agents, card: CardRow, by: Starter): Promise<void> {
  const problem = await findStartProblem(tx, agents, card, by)
  if (problem) throw problem
}

/** The fields of a card that record why it is held back. */
export const heldFields = (
  tx: Transaction,
  hold: Problem | undefined,
): { lastAgentAction?: ReturnType<typeof notStarted> } => (hold ? { lastAgentAction: notStarted(tx, hold) } : {})

/** Whether a card's last action is that its agent could not be started. */
export const isHeldBack = ({ lastAgentAction }: Pick<CardRow, 'lastAgentAction'>): boolean =>
  lastAgentAction !== null && (JSON.parse(lastAgentAction) as { type: string }).type === 'not_started'

/**
 * Starts a card unless something holds it back. If a budget holds it back, its session waits and starts once the budget allows it. Blockers
 * that the card gets before its work starts also hold it, unless `force` is set.
 * @param card states what holds it back (`heldFields`)
 */
export async function startOrHold(
  tx: Transaction,
  agents: Agents,
  card: CardRow,
  by: Starter,
  hold: Problem | undefined,
  force = false,
): Promise<CardRow> {
  const waitsForBudget = hold?.code === 'BUDGET_EXHAUSTED'
  if (hold && !waitsForBudget) return card
  const options = { waitsForBlockers: !force, ...(waitsForBudget && { waitsForBudget }) }
  const session = await start(tx, agents, card, by, options)
  if (session && waitsForBudget) await holdBack(tx, agents, session)
  return (await readCard(tx, card.projectId, card.id))!
}
