import { landedAction } from '../contract/cards/cardRecords.ts'
import { readCard, type CardRow } from '../store/cards/cards.ts'
import type { Database, Transaction } from '../store/engine/database.ts'
import { noteAction } from '../domain/agents/agentActions.ts'
import { changeCardIfThere } from '../domain/cards/cardChanges.ts'

/** The branch that already contains a card's work in one of its repositories. */
export interface Landed {
  base: string
  repository: string
}

/** The message about work that is already in its base under other commits. */
export const landedWords = ({ base, repository }: Landed): string =>
  `Its work${repository && ` in ${repository}`} is already in ${base} under other commits, for example after a squash. The worktree is no longer needed.`

/** Records on a card that its work is in its base. */
export async function noteLanded(db: Database, { id, projectId }: CardRow, landed: Landed): Promise<void> {
  const action = { type: landedAction, detail: landedWords(landed) }
  await db.transaction(tx => noteAction(tx, { projectId, cardId: id }, action))
}

/** Clears that message, if it is still the last action. */
export async function forgetLanded(tx: Transaction, { id, projectId }: CardRow): Promise<void> {
  const card = await readCard(tx, projectId, id)
  const last = card?.lastAgentAction ? (JSON.parse(card.lastAgentAction) as { type: string }) : null
  if (card && last?.type === landedAction) await changeCardIfThere(tx, card, { lastAgentAction: null })
}
