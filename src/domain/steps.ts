import type { StoredStep } from '../store/cardFields.ts'
import type { CardRow } from '../store/cards.ts'
import { readColumn, type ColumnRow } from '../store/columns.ts'
import type { Reader } from '../store/database.ts'

/** A new card's pipeline: the board's active columns in order. */
export const initialSteps = (columns: readonly ColumnRow[]): StoredStep[] =>
  columns
    .filter(({ columnType }) => columnType === 'active')
    .map(({ id }) => ({ columnId: id, prompt: '', approval: 'auto' }))

/** The step of a card's pipeline for the column that it is in. */
const stepOf = (card: CardRow): StoredStep | undefined =>
  (JSON.parse(card.pipeline) as StoredStep[]).find(({ columnId }) => columnId === card.columnId)

/** What a card's agent is told first: its step's prompt, or else its column's, before the card's own. A card without a prompt has its title; a terminal card its command. */
export async function firstPrompt(db: Reader, card: CardRow): Promise<string> {
  if (card.kind === 'terminal') return card.command ?? ''
  const before =
    card.columnType === 'active' ? stepOf(card)?.prompt || (await readColumn(db, card.columnId))?.prompt : undefined
  return [before, card.prompt.trim() === '' ? card.title : card.prompt].filter(Boolean).join('\n\n')
}
