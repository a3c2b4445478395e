import { append } from '../events/outbox.ts'
import { updateCard, type CardRow } from '../store/cards.ts'
import type { Transaction } from '../store/database.ts'
import { cardDetail } from '../views/cards.ts'
import { find, type CardRef } from './cards.ts'

/** Notes what an agent says that it does, as its card's last action. @throws Problem CARD_NOT_FOUND */
export async function noteAction(
  tx: Transaction,
  ref: CardRef,
  { type, detail }: { type: string; detail: string },
): Promise<CardRow> {
  await updateCard(tx, (await find(tx, ref)).id, { lastAgentAction: JSON.stringify({ type, at: tx.now, detail }) })
  const card = await find(tx, ref)
  await append(tx, 'card.updated', ref.projectId, cardDetail(card))
  return card
}
