import type { ApproverRole, GateKind } from '../../contract/boards/gates.ts'
import type { Reader, Transaction } from '../engine/database.ts'
import { defineRecord, id, json, number, text, type Change, type NewRow, type Row } from '../engine/record.ts'

export const gateFields = {
  id: id(),
  projectId: id(),
  /** The column that a card leaves. Null for a gate that a card passes before it is merged. */
  columnId: id().orNull(),
  name: text(),
  kind: text<GateKind>(),
  position: number(),
  /** Of a command, otherwise null. */
  command: text().orNull(),
  /** The time limit of a command or a review. */
  minutes: number().orNull(),
  /** The number of people who must approve, otherwise null. */
  approvals: number().orNull(),
  /** The least role of these people. */
  approverRole: text<ApproverRole>().orNull(),
  /** The accounts of these people. If empty, everyone with the role. */
  approverIds: json<number[]>().orNull(),
  /** The agent and profile of a reviewer. If both are null, those of the card. */
  agent: text().orNull(),
  profile: text().orNull(),
  /** The instructions for a reviewer, which follow those of the board. */
  prompt: text().orNull(),
  createdAt: text().initiallyNow(),
  updatedAt: text().initiallyNow(),
}
export type GateRow = Row<typeof gateFields>
export type NewGate = Omit<NewRow<typeof gateFields>, 'position'>
export type GateChange = Omit<Change<typeof gateFields>, 'position' | 'kind'>

const record = defineRecord('gates', 'g', gateFields)
const select = `SELECT ${record.columns} FROM gates g`

/** The gates of a project in their order. */
export const listGates = (db: Reader, projectId: number): Promise<GateRow[]> =>
  db.all(`${select} WHERE g.project_id = ? ORDER BY g.position`, [projectId])
export const readGate = (db: Reader, id: number): Promise<GateRow | undefined> =>
  db.get(`${select} WHERE g.id = ?`, [id])
export const hasGates = async (db: Reader, projectId: number): Promise<boolean> =>
  (await db.get('SELECT 1 FROM gates WHERE project_id = ? LIMIT 1', [projectId])) !== undefined
/** Whether a column has a gate. */
export const isGated = async (db: Reader, columnId: number): Promise<boolean> =>
  (await db.get('SELECT 1 FROM gates WHERE column_id = ? LIMIT 1', [columnId])) !== undefined

/** Whether a column of a board has a gate. */
export const isBoardGated = async (db: Reader, boardId: number): Promise<boolean> =>
  (await db.get('SELECT 1 FROM columns l JOIN gates g ON g.column_id = l.id WHERE l.board_id = ? LIMIT 1', [
    boardId,
  ])) !== undefined

/**
 * The gates that a card passes on a move between two columns, in the order of the columns: those of its column and of each column before the
 * target. From an archive column, the way begins at the first column. A move to another board passes all gates that are ahead of the card,
 * and those before the target. A move backward or to an archive column passes none.
 */
export const listGatesBetween = (db: Reader, fromColumnId: number, toColumnId: number): Promise<GateRow[]> =>
  db.all(
    `${select} JOIN columns l ON l.id = g.column_id, columns f, columns t
     WHERE f.id = ? AND t.id = ? AND g.project_id = t.project_id AND t.column_type <> 'archive'
     AND iif(f.board_id = t.board_id,
       l.board_id = t.board_id AND l.position >= iif(f.column_type = 'archive', 0, f.position) AND l.position < t.position,
       (l.board_id = f.board_id AND l.position >= f.position) OR (l.board_id = t.board_id AND l.position < t.position))
     ORDER BY l.board_id = t.board_id, l.position, g.position`,
    [fromColumnId, toColumnId],
  )

/** Adds a gate at the end of its project's gates. */
export const insertGate = async (tx: Transaction, gate: NewGate): Promise<number> =>
  record.insert(tx, { ...gate, position: await endOfProject(tx, gate.projectId) })
const endOfProject = async (db: Reader, projectId: number): Promise<number> =>
  (await db.get<{ end: number }>('SELECT coalesce(max(position) + 1, 0) AS end FROM gates WHERE project_id = ?', [
    projectId,
  ]))!.end

export const updateGate = (tx: Transaction, id: number, change: GateChange): void => record.update(tx, id, change)
/** Moves a gate. The gate's time of change is unchanged. */
export const setGatePosition = (tx: Transaction, id: number, position: number): void =>
  tx.enqueue('UPDATE gates SET position = ? WHERE id = ?', [position, id])
/** Deletes a gate with its proofs. */
export const deleteGate = (tx: Transaction, id: number): void => tx.enqueue('DELETE FROM gates WHERE id = ?', [id])
