import { readCard, readNextCardId } from '../../store/cards/cards.ts'
import { readColumn, readDefaultColumn } from '../../store/boards/columns.ts'
import type { Transaction } from '../../store/engine/database.ts'
import * as order from '../../store/cards/order.ts'
import { isOrdered } from '../boards/columnLimits.ts'

/*
 * The reads of the most frequent writes, announced in advance (`Transaction.ahead`): on a database server, the answers arrive in
 * one message. An error here costs a read and has no other effect.
 */

/** Announces the reads of `move` in src/domain/cards/cardMoves.ts. */
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

/** Announces the reads of `create` in src/domain/cards/cards.ts. */
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
