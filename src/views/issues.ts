import type { InferOutput } from 'valibot'
import type { ForgeSettings } from '../contract/forges/forge.ts'
import { CardIssue, type issues } from '../contract/forges/issues.ts'
import { cardIssueFields, issueStateOf, type CardIssueRow, type SyncRow } from '../store/cards/cardIssues.ts'
import { viewOf } from './view.ts'

/** An issue that has a card. The row must include the card's fields. */
export const cardIssue: (row: CardIssueRow) => InferOutput<typeof CardIssue> = viewOf(
  cardIssueFields,
  CardIssue,
  'text',
  (row: CardIssueRow) => ({ cardId: String(row.cardId), state: issueStateOf(row) }),
)

/** The state of the synchronization of a project's issues. */
export const syncState = (
  { issueLabel, issueComments }: ForgeSettings,
  row: SyncRow | undefined,
): InferOutput<typeof issues.list.output>['sync'] => ({
  label: issueLabel,
  comments: issueComments,
  syncedAt: row?.syncedAt ?? null,
  nextAt: issueLabel === null ? null : (row?.nextAt ?? null),
  problem: row?.problem ?? null,
})
