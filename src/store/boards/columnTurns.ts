import { readySql } from '../cards/cardFields.ts'
import { listColumnsWhere, type ColumnRow } from './columns.ts'
import { isGated } from './gates.ts'
import type { Reader } from '../engine/database.ts'
import { orderedIds, placeJoins, placeSql } from '../cards/order.ts'

/** A card that can advance, with its position: that of its column on the board, and its own in the column. */
export interface Turn {
  cardId: number
  columnPosition: number
  position: number
}

/** This machine's projects with columns that can receive cards automatically and with events after `seq`. */
export const listProjectsWithTurns = async (db: Reader, seq: number): Promise<number[]> =>
  (
    await db.all<{ id: number }>(
      `SELECT p.id FROM projects p WHERE p.id IN (SELECT project_id FROM columns WHERE pull = 1
         UNION SELECT project_id FROM columns WHERE id IN (SELECT next_column_id FROM cards WHERE next_column_id IS NOT NULL))
       AND p.host IS ? AND p.hidden = 0 AND EXISTS (SELECT 1 FROM events e WHERE e.project_id = p.id AND e.seq > ?) ORDER BY p.id`,
      [db.host, seq],
    )
  ).map(({ id }) => id)

/** The columns of a project that can receive cards automatically, the last of each board first. */
export const listColumnsWithTurns = (db: Reader, projectId: number): Promise<ColumnRow[]> =>
  listColumnsWhere(
    db,
    `c.project_id = ? AND (c.pull = 1 OR c.id IN (SELECT next_column_id FROM cards WHERE next_column_id IS NOT NULL))
     ORDER BY c.board_id, c.position DESC`,
    [projectId],
  )

/** Whether the next column on the board pulls cards from this one. */
export const isPulledFrom = async (db: Reader, columnId: number): Promise<boolean> =>
  (
    await db.get<{ pull: 0 | 1 }>(
      `SELECT c.pull FROM columns b JOIN columns c ON c.board_id = b.board_id AND c.position > b.position
       WHERE b.id = ? ORDER BY c.position LIMIT 1`,
      [columnId],
    )
  )?.pull === 1

/** The card furthest along among those that wait for capacity in a column. */
export const readFirstWaiting = (db: Reader, columnId: number): Promise<Turn | undefined> =>
  db.get(
    `SELECT c.id AS cardId, l.position AS columnPosition, ${placeSql} AS position FROM cards c JOIN columns l ON l.id = c.column_id ${placeJoins}
     WHERE c.next_column_id = ? AND c.deleted_at IS NULL AND c.archived_at IS NULL
     AND iif(l.column_type = 'active', c.status = 'completed', ${isFresh}) ORDER BY 2 DESC, 3 LIMIT 1`,
    [columnId],
  )

/** Only such cards are pulled. A card that has run before and was moved back is left to users. */
const isFresh = `${readySql} AND c.status = 'idle'`
/** The card's step ended successfully and waits for no approval. */
const isThrough = `c.status = 'completed' AND c.open_blockers = 0 AND (c.review_state IS NULL OR c.review_state = 'approved')
  AND NOT EXISTS (SELECT 1 FROM json_each(c.pipeline) s WHERE s.value ->> 'columnId' = c.column_id AND s.value ->> 'approval' = 'manual')`
const pullable = `SELECT c.id FROM json_each(?) j JOIN cards c ON c.id = j.value JOIN columns l ON l.id = c.column_id
  WHERE c.pullable = 1 AND c.next_column_id IS NULL AND c.archived_at IS NULL AND c.deleted_at IS NULL
  AND iif(l.column_type = 'active', ${isThrough}, ${isFresh}) ORDER BY j.key LIMIT 1`
const idsAPage = 500

/** The first card, by place, that a column can pull from the previous one. Cards leave a column with gates only with proofs. */
export async function readFirstPullable(db: Reader, column: ColumnRow): Promise<Turn | undefined> {
  const [before] = await listColumnsWhere(db, 'c.board_id = ? AND c.position < ? ORDER BY c.position DESC LIMIT 1', [
    column.boardId,
    column.position,
  ])
  if (!before || !(await hasStatus(db, before.id, before.columnType === 'active' ? 'completed' : 'idle')))
    return undefined
  if (before.projectHasGates === 1 && (await isGated(db, before.id))) return undefined
  for (let offset = 0; ; offset += idsAPage) {
    const ids = await orderedIds(db, before.id, offset, idsAPage)
    const first = await db.get<{ id: number }>(pullable, [JSON.stringify(ids)])
    if (first) return { cardId: first.id, columnPosition: before.position, position: offset + ids.indexOf(first.id) }
    if (ids.length < idsAPage) return undefined
  }
}

const hasStatus = async (db: Reader, columnId: number, status: 'completed' | 'idle'): Promise<boolean> =>
  (await db.get('SELECT 1 FROM card_counts WHERE column_id = ? AND status = ? AND total > 0 LIMIT 1', [
    columnId,
    status,
  ])) !== undefined
