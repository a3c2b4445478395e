import { Problem } from '../contract/errors.ts'
import { bySystem, insertAuditRow } from '../store/audit.ts'
import type { CardChange, CardRow } from '../store/cards.ts'
import { listColumns, readFirstColumn, type ColumnRow } from '../store/columns.ts'
import type { Transaction } from '../store/database.ts'
import { listDependents } from '../store/dependencies.ts'
import * as order from '../store/order.ts'
import { hasActiveAgent } from '../views/cards.ts'
import { announceCard, announceParent, changeCard, changePlace } from './cardChanges.ts'
import { columnOfProject, find, findVersion, isOrdered, started, type CardRef, type StartRef } from './cards.ts'
import { findBlockade, requireUnblocked } from './dependencies.ts'
import { readPipeline } from './pipeline.ts'
import { cancelled, endCard, notStarted, findStartProblem, type Agents, type Ending } from './sessions.ts'
import { mayStart, requireMayStart } from './starting.ts'

/**
 * Moves a card to a zero-based place of a column of its project; without a place, to the end.
 * - A move into an archive column archives the card, a move out of one unarchives it.
 * - Leaving an active column ends the agent.
 * - Entering one starts it, unless `automation` moves the card or the caller may not start agents. With `mustStart` a
 *   move that starts nothing is refused.
 * - A card that waits for others moves and does not start, unless `force` starts it.
 * @throws Problem CARD_NOT_FOUND, COLUMN_NOT_FOUND, COLUMN_IN_OTHER_PROJECT, VERSION_CONFLICT,
 *   INSUFFICIENT_PERMISSIONS for a terminal card of a caller who may not run its command; with `mustStart` also
 *   CONFLICT, AGENT_UNAVAILABLE, CARD_BLOCKED
 */
export async function move(
  tx: Transaction,
  agents: Agents,
  ref: CardRef,
  to: { columnId: number; position?: number; mustStart?: boolean; force?: boolean },
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
      ? ((to.force ? undefined : await findBlockade(tx, card)) ??
        (await findStartProblem(tx, agents, { ...card, columnId: column.id }, ref.caller)))
      : undefined
  if (problem && (to.mustStart || card.kind === 'terminal')) throw problem
  if (column.id !== card.columnId && (card.columnType === 'active' || entersActive || column.columnType === 'archive'))
    await endCard(tx, agents, card.id, ending, { all: column.columnType === 'archive' })
  const moved = await changePlace(tx, card, {
    ...(await placing(tx, card, column, to.position)),
    ...(entersActive && { deferred: automation || !mayStart(ref.caller, card.kind) }),
    ...(problem && { lastAgentAction: notStarted(tx, problem) }),
  })
  await announceProgress(tx, agents, card, moved)
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
 * Starts a card that automation deferred, or one that is idle in an active column. With `force` also one that waits for
 * others.
 * @throws Problem CARD_NOT_FOUND, CARD_NOT_DEFERRED, CARD_BLOCKED, INSUFFICIENT_PERMISSIONS
 */
export async function activate(tx: Transaction, agents: Agents, ref: StartRef, force = false): Promise<CardRow> {
  const card = await find(tx, ref)
  const starts = card.columnType === 'active' && card.archivedAt === null && !hasActiveAgent(card)
  if (card.deferred === 0 && !(starts && card.status === 'idle')) throw new Problem('CARD_NOT_DEFERRED')
  requireMayStart(ref.caller, card.kind)
  if (starts && !force) await requireUnblocked(tx, card)
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
export async function unarchive(tx: Transaction, agents: Agents, ref: CardRef): Promise<CardRow> {
  const card = await find(tx, ref)
  if (card.archivedAt === null) return card
  const column =
    card.columnType === 'archive'
      ? await firstOpenColumn(tx, card.boardId)
      : await columnOfProject(tx, ref, card.columnId)
  const unarchived = await changeCard(tx, card, await placing(tx, card, column), 'card.unarchived')
  await announceProgress(tx, agents, card, unarchived)
  return resume(tx, agents, unarchived)
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
    doneAt:
      column.columnType === 'done' ? (card.doneAt ?? tx.now) : column.columnType === 'archive' ? card.doneAt : null,
  }
  // Assigning an indexed column rewrites its index entries even if the value stays: half of the cost of a move within
  // a column.
  return Object.fromEntries(
    Object.entries(standing).filter(([name, value]) => card[name as keyof typeof standing] !== value),
  )
}

/** Announces what follows from a card's coming into a column of done cards, or leaving it. */
async function announceProgress(tx: Transaction, agents: Agents, before: CardRow, after: CardRow): Promise<void> {
  if ((before.doneAt === null) === (after.doneAt === null)) return
  await announceParent(tx, after)
  for (const { id, projectId } of await listDependents(tx, [after.id]))
    if (after.doneAt !== null) await announceReady(tx, agents, projectId, id)
    else await announceCard(tx, 'card.updated', { id, projectId })
}

/** Announces that nothing blocks a card any more, if that is so, and starts it in auto mode. One that is done or at work is not ready. */
export async function announceReady(tx: Transaction, agents: Agents, projectId: number, id: number): Promise<CardRow> {
  const card = await find(tx, { projectId, cardId: id })
  if (card.openBlockers > 0) return card
  await announceCard(tx, card.ready === 1 ? 'card.ready' : 'card.updated', card)
  return startReady(tx, agents, card)
}

/** Starts a card in auto mode that was in the trash or in the archive when the last card that it waited for was done. */
export const resume = async (tx: Transaction, agents: Agents, card: CardRow): Promise<CardRow> =>
  card.blockedBy === undefined || card.blockedBy === '[]' ? card : startReady(tx, agents, card)

/**
 * Starts a ready card in auto mode: where it stands, or from the backlog in the first column of its pipeline. Whoever
 * switched that on might start it, so that it does not matter who made or moved it. One that has run is left to people:
 * a blocker that is done a second time must not cost a second run.
 */
async function startReady(tx: Transaction, agents: Agents, card: CardRow): Promise<CardRow> {
  if (card.ready === 0 || card.autoMode === 0 || card.status !== 'idle') return card
  const ref = { projectId: card.projectId, cardId: card.id }
  const [step] = await readPipeline(tx, card)
  if (card.columnType !== 'active' && !step) return card
  const placed = card.columnType === 'active' ? card : await move(tx, agents, ref, { columnId: step!.columnId }, true)
  const begun = await started(tx, agents, placed, 'board')
  if (begun.status === 'queued')
    insertAuditRow(tx, bySystem('agents.continue', { kind: 'card', id: card.id }, 'nothing blocks it any more'))
  return begun
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
