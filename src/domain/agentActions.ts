import type { CardRow } from '../store/cards.ts'
import type { Transaction } from '../store/database.ts'
import { changeCard } from './cardChanges.ts'
import { find, type CardRef } from './cards.ts'

/** Stores an agent's report of its progress as its card's last action. @throws Problem CARD_NOT_FOUND */
export async function noteAction(
  tx: Transaction,
  ref: CardRef,
  { type, detail }: { type: string; detail: string },
): Promise<CardRow> {
  return changeCard(tx, await find(tx, ref), { lastAgentAction: JSON.stringify({ type, at: tx.now, detail }) })
}
