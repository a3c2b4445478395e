import { Problem } from '../../contract/errors.ts'
import type { StoredStep } from '../../store/cards/cardFields.ts'
import type { CardRow } from '../../store/cards/cards.ts'
import { listColumns, type ColumnRow } from '../../store/boards/columns.ts'
import type { Reader, Transaction } from '../../store/engine/database.ts'
import type { Step } from '../../views/cards.ts'
import { changeCard } from './cardChanges.ts'
import { find, type CardRef } from './cards.ts'
import { requireMayChangeStart } from './startPermission.ts'

/** A card's steps whose columns are still on its board. A step without a prompt uses the prompt of its column. */
export async function readPipeline(db: Reader, card: CardRow): Promise<Step[]> {
  const columns = new Map((await listColumns(db, card.boardId)).map(column => [column.id, column]))
  return (JSON.parse(card.pipeline) as StoredStep[]).flatMap(step => {
    const column = columns.get(step.columnId)
    return column ? [{ ...step, columnName: column.name, prompt: step.prompt || column.prompt }] : []
  })
}

/**
 * Replaces a card's steps. For a card that can start automatically this requires the permission to start it.
 * @throws Problem CARD_NOT_FOUND, INVALID_PIPELINE, INSUFFICIENT_PERMISSIONS
 */
export async function setPipeline(
  tx: Transaction,
  ref: CardRef,
  steps: ReadonlyArray<{ columnId: number; prompt?: string; approval: 'auto' | 'manual' }>,
): Promise<Step[]> {
  const card = await find(tx, ref)
  await requireMayChangeStart(tx, ref.caller, card)
  const active = new Map(
    (await listColumns(tx, card.boardId))
      .filter(({ columnType }) => columnType === 'active')
      .map(column => [column.id, column]),
  )
  const wrong = steps.findIndex(
    ({ columnId }, at) => !active.has(columnId) || steps.findIndex(other => other.columnId === columnId) !== at,
  )
  if (wrong >= 0)
    throw new Problem('INVALID_PIPELINE', undefined, {
      details: [
        { path: `steps.${wrong}.columnId`, message: "must be an active column of the card's board, named once" },
      ],
    })
  const stored = steps.map(({ columnId, prompt, approval }): StoredStep => ({
    columnId,
    prompt: prompt === active.get(columnId)!.prompt ? '' : (prompt ?? ''),
    approval,
  }))
  const pipeline = JSON.stringify(stored)
  const waits = card.nextColumnId !== null && { nextColumnId: (await readNext(tx, { ...card, pipeline }))?.id ?? null }
  return readPipeline(tx, await changeCard(tx, card, { pipeline, ...waits }))
}

/**
 * The next column of a card: the column of the step after its current column or, after the last step, the first done column. For a card in
 * a backlog, the column of the first step.
 */
export async function readNext(
  db: Reader,
  card: Pick<CardRow, 'boardId' | 'columnId' | 'columnType' | 'pipeline'>,
): Promise<ColumnRow | undefined> {
  const columns = await listColumns(db, card.boardId)
  const steps = (JSON.parse(card.pipeline) as StoredStep[]).flatMap(
    ({ columnId }) => columns.find(({ id, columnType }) => id === columnId && columnType === 'active') ?? [],
  )
  if (card.columnType !== 'active') return steps[0]
  const at = steps.findIndex(({ id }) => id === card.columnId)
  return (at < 0 ? undefined : steps[at + 1]) ?? columns.find(({ columnType }) => columnType === 'done')
}
