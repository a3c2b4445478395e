import { landedAction } from '../contract/cardRecords.ts'
import { readCard, type CardRow } from '../store/cards.ts'
import type { Database, Transaction } from '../store/database.ts'
import { noteAction } from './agentActions.ts'
import { changeCardIfThere } from './cardChanges.ts'

/** In which branch a card's work in one of its repositories is already. */
export interface Landed {
  base: string
  repository: string
}

/** What people are told of work that is in its base under another name. */
export const landedWords = ({ base, repository }: Landed): string =>
  `Its work${repository && ` in ${repository}`} is in ${base} already, by commits of other names, as a squash makes them. Its worktree can go.`

/** Says on a card that its work is in its base. */
export async function noteLanded(db: Database, { id, projectId }: CardRow, landed: Landed): Promise<void> {
  const action = { type: landedAction, detail: landedWords(landed) }
  await db.transaction(tx => noteAction(tx, { projectId, cardId: id }, action))
}

/** Takes that back, where it is still what was said last. */
export async function forgetLanded(tx: Transaction, { id, projectId }: CardRow): Promise<void> {
  const card = await readCard(tx, projectId, id)
  const last = card?.lastAgentAction ? (JSON.parse(card.lastAgentAction) as { type: string }) : null
  if (card && last?.type === landedAction) await changeCardIfThere(tx, card, { lastAgentAction: null })
}
