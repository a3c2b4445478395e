import { Problem } from '../contract/errors.ts'
import type { CardChange, CardRow } from '../store/cards.ts'
import { listColumns, readFirstColumn, type ColumnRow } from '../store/columns.ts'
import type { Transaction } from '../store/database.ts'
import * as order from '../store/order.ts'
import { hasActiveAgent } from '../views/cards.ts'
import { announceCard, changeCard, changePlace } from './cardChanges.ts'
import { columnOfProject, find, findVersion, isOrdered, started, type CardRef, type StartRef } from './cards.ts'
import { cancelled, endCard, notStarted, findStartProblem, type Agents, type Ending } from './sessions.ts'
import { mayStart, requireMayStart } from './starting.ts'

/**
 * Moves a card to a zero-based place of a column of its project; without a place, to the end.
 * - A move into an archive column archives the card, a move out of one unarchives it.
 * - Leaving an active column ends the agent.
 * - Entering one starts it, unless `automation` moves the card or the caller may not start agents. With `mustStart` a
 *   move that starts nothing is refused.
 * @throws Problem CARD_NOT_FOUND, COLUMN_NOT_FOUND, COLUMN_IN_OTHER_PROJECT, VERSION_CONFLICT,
 *   INSUFFICIENT_PERMISSIONS for a terminal card of a caller who may not run its command; with `mustStart` also
 *   CONFLICT, AGENT_UNAVAILABLE
 */
export async function move(
  tx: Transaction,
  agents: Agents,
  ref: CardRef,
  to: { columnId: number; position?: number; mustStart?: boolean },
  automation = false,
  ending: Ending = cancelled,
): Promise<CardRow> {
  const card = await findVersion(tx, ref)
  const column = await columnOfProject(tx, ref, to.columnId)
  const entersActive = column.columnType === 'active' && column.id !== card.columnId
  if (to.mustStart && !entersActive)
    refuse('CONFLICT', 'The move starts nothing: it leads into no other active column.')
  if (column.id === card.columnId && to.position !== undefined && to.position === card.position) return card
  const problem =
    entersActive && !automation
      ? await findStartProblem(tx, agents, { ...card, columnId: column.id }, ref.caller)
      : undefined
  if (problem && (to.mustStart || card.kind === 'terminal')) throw problem
  if (column.id !== card.columnId && (card.columnType === 'active' || entersActive || column.columnType === 'archive'))
    await endCard(tx, agents, card.id, ending, { all: column.columnType === 'archive' })
  const moved = await changePlace(tx, card, {
    ...(await placing(tx, card, column, to.position)),
    ...(entersActive && { deferred: automation || !mayStart(ref.caller, card.kind) }),
    ...(problem && { lastAgentAction: notStarted(tx, problem) }),
  })
  return entersActive && !automation && !problem ? started(tx, agents, moved, ref.caller!) : moved
}

/** Moves a card to its board's first done column and ends its session. @throws Problem CARD_NOT_FOUND, COLUMN_NOT_FOUND when the board has none */
export async function complete(tx: Transaction, agents: Agents, ref: CardRef): Promise<CardRow> {
  const card = await find(tx, ref)
  const done =
    (await readFirstColumn(tx, card.boardId, 'done')) ?? refuse('COLUMN_NOT_FOUND', 'The board has no done column.')
  await endCard(tx, agents, card.id, completedByHand)
  if (card.columnId !== done.id) await move(tx, agents, ref, { columnId: done.id })
  return announceCard(tx, 'card.completed', card)
}

/**
 * Starts a card that automation deferred. @throws Problem CARD_NOT_FOUND, CARD_NOT_DEFERRED, INSUFFICIENT_PERMISSIONS
 */
export async function activate(tx: Transaction, agents: Agents, ref: StartRef): Promise<CardRow> {
  const card = await find(tx, ref)
  if (card.deferred === 0) throw new Problem('CARD_NOT_DEFERRED')
  requireMayStart(ref.caller, card.kind)
  const starts = card.columnType === 'active' && card.archivedAt === null && !hasActiveAgent(card)
  const problem = starts ? await findStartProblem(tx, agents, card, ref.caller) : undefined
  const activated = await changeCard(tx, card, {
    deferred: false,
    ...(problem && { lastAgentAction: notStarted(tx, problem) }),
  })
  return starts && !problem ? started(tx, agents, activated, ref.caller) : activated
}

/**
 * Archives a card: removes it from its column's order, lists and counts, and ends its agent. No effect on an archived
 * card. @throws Problem CARD_NOT_FOUND
 */
export async function archive(tx: Transaction, agents: Agents, ref: CardRef): Promise<CardRow> {
  const card = await find(tx, ref)
  if (card.archivedAt !== null) return card
  await endCard(tx, agents, card.id, cancelled, { all: true })
  await order.removeCard(tx, card)
  return changeCard(tx, card, { archivedAt: tx.now }, 'card.archived')
}

/**
 * Unarchives a card to the end of its column, or of the board's first column that is no archive. @throws Problem
 * CARD_NOT_FOUND
 */
export async function unarchive(tx: Transaction, ref: CardRef): Promise<CardRow> {
  const card = await find(tx, ref)
  if (card.archivedAt === null) return card
  const column =
    card.columnType === 'archive'
      ? await firstOpenColumn(tx, card.boardId)
      : await columnOfProject(tx, ref, card.columnId)
  return changeCard(tx, card, await placing(tx, card, column), 'card.unarchived')
}

/**
 * Inserts a card into a column's order. @returns the changes of its row, for the caller to write with its other
 * changes
 */
async function placing(tx: Transaction, card: CardRow, column: ColumnRow, position?: number): Promise<CardChange> {
  const leafId = isOrdered(card) ? await order.moveCard(tx, card, column.id, position) : card.leafId
  const standing = {
    leafId,
    columnId: column.id,
    boardId: column.boardId,
    archivedAt: column.columnType === 'archive' ? (card.archivedAt ?? tx.now) : null,
  }
  // Assigning an indexed column rewrites its index entries even if the value stays: half of the cost of a move within
  // a column.
  return Object.fromEntries(
    Object.entries(standing).filter(([name, value]) => card[name as keyof typeof standing] !== value),
  )
}

async function firstOpenColumn(tx: Transaction, boardId: number): Promise<ColumnRow> {
  const board = await listColumns(tx, boardId)
  return (
    board.find(({ columnType }) => columnType !== 'archive') ??
    refuse('COLUMN_NOT_FOUND', 'The board has no column but archive columns.')
  )
}

const completedByHand: Ending = { status: 'completed', detail: 'Completed by hand.' }

function refuse(code: ConstructorParameters<typeof Problem>[0], message?: string): never {
  throw new Problem(code, message)
}
