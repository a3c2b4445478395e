import { readCard, readNextCardId } from '../store/cards.ts'
import { readColumn, readDefaultColumn } from '../store/columns.ts'
import type { Transaction } from '../store/database.ts'
import * as order from '../store/order.ts'
import { isOrdered } from './columnLimits.ts'

/*
 * What the most frequent writes will read, named before they do (`Transaction.ahead`): on a database server the answers come in one
 * message. What is wrong here costs a read, and changes nothing.
 */

/** Names what `move` in src/domain/cardMoves.ts will read. */
export function readAheadOfMove(
  tx: Transaction,
  { projectId, cardId }: { projectId: number; cardId: number },
  to: { columnId: number; position?: number },
): void {
  tx.ahead(db => {
    void readCard(db, projectId, cardId)
    void readColumn(db, to.columnId)
    order.readPlaces(db, cardId, to.columnId, to.position)
  })
}

/** Names what `create` in src/domain/cards.ts will read. */
export function readAheadOfCard(
  tx: Transaction,
  { projectId, columnId, kind }: { projectId: number; columnId?: number } & Parameters<typeof isOrdered>[0],
): void {
  tx.ahead(db => {
    void readDefaultColumn(db, projectId, columnId)
    void readNextCardId(db)
    if (isOrdered({ kind })) void order.readEnd(db, projectId, columnId)
  })
}
