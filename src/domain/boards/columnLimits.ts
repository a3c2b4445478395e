import { invalid, Problem } from '../../contract/errors.ts'
import type { ColumnRow } from '../../store/boards/columns.ts'
import type { Reader } from '../../store/engine/database.ts'
import { countOrdered } from '../../store/cards/order.ts'
import type { CardKind, ColumnType } from '../../contract/fields.ts'

type Limited = Pick<ColumnRow, 'id' | 'name' | 'wipLimit'>

/** The number of cards in a full column. Undefined if the column has capacity. */
async function countOfFull(db: Reader, { id, wipLimit }: Limited): Promise<number | undefined> {
  if (wipLimit === null) return undefined
  const count = await countOrdered(db, id)
  return count >= wipLimit ? count : undefined
}

/** Whether a column accepts another card. In a transaction, the result stays valid until the transaction ends. */
export const hasRoom = async (db: Reader, column: Limited): Promise<boolean> =>
  (await countOfFull(db, column)) === undefined

/** @throws Problem COLUMN_FULL */
export async function requireRoom(db: Reader, column: Limited): Promise<void> {
  const count = await countOfFull(db, column)
  if (count === undefined) return
  const { name, wipLimit } = column
  throw new Problem(
    'COLUMN_FULL',
    `The column ${name} is full: its limit is ${wipLimit}, and it has ${count}. Move a card out of it, raise its limit, or use force.`,
  )
}

/** The message of a card that waits to advance automatically. */
export const describeCapacityWait = ({ name, wipLimit }: Limited): { message: string } => ({
  message: `Waiting for capacity in the column ${name}, which accepts ${wipLimit === 1 ? 'one card' : `${wipLimit} cards`}.`,
})

/** Only kanban cards have a place in their column, and count towards its limit. */
export const isOrdered = ({ kind = 'kanban' }: { kind?: CardKind }): boolean => kind === 'kanban'

/** @throws Problem VALIDATION_FAILED for a limit that cannot be enforced, and for a column that pulls without a limit */
export function requireSoundLimit(
  { columnType, wipLimit, pull }: { columnType: ColumnType; wipLimit: number | null; pull: boolean },
  path = 'wipLimit',
): void {
  if (columnType === 'archive' && wipLimit !== null)
    throw invalid(path, 'must be null for an archive column: archived cards do not count')
  // Otherwise, the column would start all ready cards at once.
  if (pull && wipLimit === null) throw invalid(path, 'is required for a column that pulls')
}
