import type { StoredStep } from '../../store/cards/cardFields.ts'
import type { CardRow } from '../../store/cards/cards.ts'
import { readColumn, type ColumnRow } from '../../store/boards/columns.ts'
import type { Reader } from '../../store/engine/database.ts'

/** A new card's pipeline: the active columns of its board, in their order. */
export const initialSteps = (activeColumns: readonly number[]): StoredStep[] =>
  activeColumns.map(columnId => ({ columnId, prompt: '', approval: 'auto' }))
/** The IDs of a board's active columns. */
export const activeColumnsOf = (columns: ReadonlyArray<Pick<ColumnRow, 'id' | 'columnType'>>): number[] =>
  columns.filter(({ columnType }) => columnType === 'active').map(({ id }) => id)

/** The pipeline step of a card's present column. */
export const stepOf = (card: Pick<CardRow, 'pipeline' | 'columnId'>): StoredStep | undefined =>
  (JSON.parse(card.pipeline) as StoredStep[]).find(({ columnId }) => columnId === card.columnId)

/**
 * The first prompt of a card's agent: the prompt of its step or column, then the card's own or its title. For a terminal card, its command.
 */
export async function firstPrompt(db: Reader, card: CardRow): Promise<string> {
  if (card.kind === 'terminal') return card.command ?? ''
  const before =
    card.columnType === 'active' ? stepOf(card)?.prompt || (await readColumn(db, card.columnId))?.prompt : undefined
  return [before, card.prompt.trim() === '' ? card.title : card.prompt].filter(Boolean).join('\n\n')
}
