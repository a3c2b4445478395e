import type { IssueSummary } from '../contract/issueRecords.ts'
import { changeCard } from '../domain/cardChanges.ts'
import type { CardRow } from '../store/cards.ts'
import type { Transaction } from '../store/database.ts'

/** Shows an issue on its card. @returns whether it was shown otherwise */
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
