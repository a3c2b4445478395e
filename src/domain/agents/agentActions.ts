import type { CardRow } from '../../store/cards/cards.ts'
import type { Transaction } from '../../store/engine/database.ts'
import { changeCard } from '../cards/cardChanges.ts'
import { find, type CardRef } from '../cards/cards.ts'

/** Stores an agent's report of its progress as its card's last action. @throws Problem CARD_NOT_FOUND */
export async function noteAction(
  tx: Transaction,
  ref: CardRef,
  { type, detail }: { type: string; detail: string },
): Promise<CardRow> {
  return changeCard(tx, await find(tx, ref), { lastAgentAction: JSON.stringify({ type, at: tx.now, detail }) })
}
