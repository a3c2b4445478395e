import type { IssueSummary } from '../contract/forges/issueRecords.ts'
import { changeCard } from '../domain/cards/cardChanges.ts'
import type { CardRow } from '../store/cards/cards.ts'
import type { Transaction } from '../store/engine/database.ts'

/** Shows an issue on its card. @returns whether the card changed */
export async function showIssue(
  tx: Transaction,
  card: CardRow,
  { number, url, state }: IssueSummary,
): Promise<boolean> {
  const issue = JSON.stringify({ number, url, state } satisfies IssueSummary)
  if (card.issue === issue) return false
  await changeCard(tx, card, { issue })
  return true
}
