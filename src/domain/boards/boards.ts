import { Problem } from '../../contract/errors.ts'
import { appendEvent } from '../../events/outbox.ts'
import {
  deleteBoard,
  insertBoard,
  listBoards,
  readBoard,
  renameBoard,
  setBoardPosition,
  type BoardRow,
} from '../../store/boards/boards.ts'
import { insertColumn } from '../../store/boards/columns.ts'
import type { Reader, Transaction } from '../../store/engine/database.ts'
import { board as boardView } from '../../views/boards.ts'
import type { Caller } from '../accounts/caller.ts'
import { insertOrphans } from '../../store/projects/orphanedWorktrees.ts'
import { requireWholeOrder } from '../cards/order.ts'
import type { Agents } from '../agents/sessions.ts'
import { requireMayStart, requireNoNewTurn } from '../cards/startPermission.ts'
import { templateForBoard } from './templates.ts'

/** @throws Problem BOARD_NOT_FOUND */
export async function find(db: Reader, projectId: number, boardId: number): Promise<BoardRow> {
  const board = await readBoard(db, projectId, boardId)
  if (!board) throw new Problem('BOARD_NOT_FOUND')
  return board
}

/**
 * Creates a board with the columns of a template, by default of the built-in "Kanban".
 * @throws Problem TEMPLATE_NOT_FOUND, INSUFFICIENT_PERMISSIONS for a template that starts agents automatically
 */
export async function create(
  tx: Transaction,
  caller: Caller,
  projectId: number,
  { name, templateId }: { name: string; templateId?: number },
): Promise<BoardRow> {
  const template = await templateForBoard(tx, caller, templateId)
  if (template.columns.some(({ pull }) => pull)) requireMayStart(caller, 'kanban')
  const boardId = await insertBoard(tx, { projectId, name })
  for (const column of template.columns) await insertColumn(tx, { ...column, boardId, projectId })
  return announce(tx, 'board.created', projectId, boardId)
}

/** Renames a board. @throws Problem BOARD_NOT_FOUND */
export async function update(
  tx: Transaction,
  projectId: number,
  boardId: number,
  { name }: { name?: string },
): Promise<BoardRow> {
  const board = await find(tx, projectId, boardId)
  if (name === undefined || name === board.name) return board
  await renameBoard(tx, boardId, name)
  return announce(tx, 'board.updated', projectId, boardId)
}

/**
 * Deletes a board with its columns and cards, and ends their agents. Their worktrees are removed later.
 * @throws Problem BOARD_NOT_FOUND, LAST_BOARD, INSUFFICIENT_PERMISSIONS if the deletion starts a card of another board
 * that the caller cannot start
 */
export async function remove(
  tx: Transaction,
  agents: Agents,
  { projectId, boardId, caller }: { projectId: number; boardId: number; caller: Caller },
): Promise<void> {
  const board = await findRemovable(tx, { projectId, boardId })
  await insertOrphans(tx, { projectId, boardId })
  await requireNoNewTurn(tx, caller, projectId, () => deleteBoard(tx, board))
  agents.reconcile(tx)
  await appendEvent(tx, 'board.deleted', projectId, { id: String(boardId) })
}

/** A board that is not the only one in its project. @throws Problem BOARD_NOT_FOUND, LAST_BOARD */
export async function findRemovable(
  db: Reader,
  { projectId, boardId }: { projectId: number; boardId: number },
): Promise<BoardRow> {
  const board = await find(db, projectId, boardId)
  if ((await listBoards(db, projectId)).length === 1) throw new Problem('LAST_BOARD')
  return board
}

/** Puts a project's boards in order. The first is the default board. @throws Problem INVALID_ORDER */
export async function reorder(tx: Transaction, projectId: number, ids: readonly number[]): Promise<BoardRow[]> {
  requireWholeOrder(ids, await listBoards(tx, projectId))
  for (const [position, id] of ids.entries()) await setBoardPosition(tx, id, position)
  const boards = await listBoards(tx, projectId)
  await appendEvent(tx, 'board.reordered', projectId, boards.map(boardView))
  return boards
}

async function announce(
  tx: Transaction,
  type: 'board.created' | 'board.updated',
  projectId: number,
  boardId: number,
): Promise<BoardRow> {
  const board = await find(tx, projectId, boardId)
  await appendEvent(tx, type, projectId, boardView(board))
  return board
}
