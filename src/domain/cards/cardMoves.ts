import { Problem, refuse } from '../../contract/errors.ts'
import { bySystem, insertAuditRow } from '../../store/server/audit.ts'
import { readCards, type CardChange, type CardRow } from '../../store/cards/cards.ts'
import { listColumns, type ColumnRow } from '../../store/boards/columns.ts'
import type { Transaction } from '../../store/engine/database.ts'
import { listDependents } from '../../store/cards/dependencies.ts'
import * as order from '../../store/cards/order.ts'
import { hasActiveAgent } from '../../views/cards.ts'
import { announceParent, announceRow, changeCard, changePlace } from './cardChanges.ts'
import { columnOfProject, find, findVersion, type CardRef, type StartRef } from './cards.ts'
import { describeCapacityWait, hasRoom, isOrdered, requireRoom } from '../boards/columnLimits.ts'
import { listGatesBetween } from '../../store/boards/gates.ts'
import { requireUnblocked } from './dependencies.ts'
import { hasPassed, listGatesOfStep, requireProofs } from './proofs.ts'
import { readPipeline } from './pipeline.ts'
import { cancelled, endCard, notStarted, type Agents, type Ending } from '../agents/sessions.ts'
import { findHold, findStartProblem, heldFields, startOrHold } from './startOrHold.ts'
import { mayStart, requireMayChangeStart, requireMayStart, requireNoNewTurn, type Starter } from './startPermission.ts'

/**
 * Moves a card to a zero-based place of a column in its project, by default to the end.
 * - A move into an archive column archives the card, a move out of one unarchives it.
 * - Leaving an active column ends the agent.
 * - Entering an active column starts the agent, unless `automation` moves the card or the caller cannot start agents. With
 * `mustStart`, a move that starts nothing is refused.
 * - A card that waits for others or for a time moves without starting, unless `force` starts it. If a budget is exhausted, its
 * session waits for the budget.
 * - A full column accepts it only with `force`.
 * - A move forward requires the proofs of the gates on the way, or an admin's `force`.
 * Without a caller, the board itself moves the card.
 * @throws Problem CARD_NOT_FOUND, COLUMN_NOT_FOUND, COLUMN_IN_OTHER_PROJECT, COLUMN_FULL, GATE_NOT_PASSED, VERSION_CONFLICT,
 * INSUFFICIENT_PERMISSIONS for a terminal card of a caller who cannot run its command, and for a move after which the board would
 * start an agent that the caller cannot start; with `mustStart` also CONFLICT, AGENT_UNAVAILABLE, CARD_BLOCKED, BUDGET_EXHAUSTED
 */
export const move = (
  tx: Transaction,
  agents: Agents,
  ref: CardRef,
  to: Target,
  automation = false,
  ending: Ending = cancelled,
): Promise<CardRow> =>
  requireNoNewTurn(tx, byOf(ref), ref.projectId, () => moveCard(tx, agents, ref, to, automation, ending))

/** The author of a change: its caller, or the board. */
const byOf = ({ caller }: CardRef): Starter => caller ?? 'board'

interface Target {
  columnId: number
  position?: number
  mustStart?: boolean
  force?: boolean
}

async function moveCard(
  tx: Transaction,
  agents: Agents,
  ref: CardRef,
  to: Target,
  automation: boolean,
  ending: Ending,
): Promise<CardRow> {
  const card = await findVersion(tx, ref)
  const column = await columnOfProject(tx, ref, to.columnId)
  const entersActive = column.columnType === 'active' && column.id !== card.columnId
  if (to.mustStart && !entersActive)
    refuse('CONFLICT', 'The move does not start an agent, because the target is not another active column.')
  if (column.id === card.columnId && to.position !== undefined && to.position === card.position) return card
  if (column.id !== card.columnId) await requireWay(tx, card, column, ref, to.force)
  if (!to.force && isOrdered(card) && (card.leafId === null || column.id !== card.columnId))
    await requireRoom(tx, column)
  const starts = entersActive && !automation
  const hold = starts ? await findHold(tx, agents, { ...card, columnId: column.id }, ref.caller, to.force) : undefined
  if (hold && (to.mustStart || card.kind === 'terminal')) throw hold
  const endsAgents =
    column.id !== card.columnId && (card.columnType === 'active' || entersActive || column.columnType === 'archive')
  if (endsAgents) await endCard(tx, agents, card.id, ending, { all: column.columnType === 'archive' })
  const change = {
    ...(await insertIntoOrder(tx, card, column, to.position)),
    ...(entersActive && { deferred: automation || !mayStart(ref.caller, card.kind) }),
    ...(column.id !== card.columnId && { nextColumnId: null, ...withoutGates(card), ...pullableAfter(ref, card) }),
    ...heldFields(tx, hold),
  }
  const moved = await changePlace(tx, card, change)
  await announceProgress(tx, agents, card, moved, byOf(ref))
  return starts ? startOrHold(tx, agents, moved, ref.caller!, hold, to.force) : moved
}

/** A card that moved starts with no failed gates, and does not wait for the landing queue. */
const withoutGates = ({ gateRounds, statusReason }: CardRow): CardChange => ({
  ...(gateRounds > 0 && { gateRounds: 0 }),
  ...((statusReason === 'gate' || statusReason === 'landing') && { statusReason: null, missingGate: null }),
})

/** Requires the proofs of the gates that a card passes on its way to a column. @throws Problem GATE_NOT_PASSED */
export async function requireWay(
  tx: Transaction,
  card: CardRow,
  { id, projectHasGates }: ColumnRow,
  { trees, caller }: CardRef,
  force: boolean | undefined,
): Promise<void> {
  if (projectHasGates === 0 || card.kind !== 'kanban') return
  const gates = await listGatesBetween(tx, card.columnId, id)
  await requireProofs(tx, { card, gates, trees, caller, force })
}

/** A card that a caller without the permission to start it moves or restores is not pulled from its new column. */
export const pullableAfter = ({ caller }: CardRef, card: CardRow): CardChange =>
  caller === undefined || card.pullable === Number(mayStart(caller, card.kind))
    ? {}
    : { pullable: mayStart(caller, card.kind) }

/**
 * Starts a card that automation deferred, or one that is idle in an active column, and allows a column to pull it. With `force`,
 * also a card that waits for others.
 * @throws Problem CARD_NOT_FOUND, CARD_NOT_DEFERRED, CARD_BLOCKED, BUDGET_EXHAUSTED, INSUFFICIENT_PERMISSIONS
 */
export async function activate(tx: Transaction, agents: Agents, ref: StartRef, force = false): Promise<CardRow> {
  const card = await find(tx, ref)
  const starts = card.columnType === 'active' && card.archivedAt === null && !hasActiveAgent(card)
  const isHeld = card.deferred === 1 || card.pullable === 0
  if (!isHeld && !(starts && card.status === 'idle')) throw new Problem('CARD_NOT_DEFERRED')
  requireMayStart(ref.caller, card.kind)
  if (starts && !force) await requireUnblocked(tx, card)
  const problem = starts ? await findStartProblem(tx, agents, card, ref.caller) : undefined
  if (problem?.code === 'BUDGET_EXHAUSTED') throw problem
  const activated = await changeCard(tx, card, { deferred: false, pullable: true, ...heldFields(tx, problem) })
  return starts ? startOrHold(tx, agents, activated, ref.caller, problem, force) : activated
}

/**
 * Archives a card: removes it from its column's order, lists and counts, and ends its agent. No effect on an archived card.
 * @throws Problem CARD_NOT_FOUND, INSUFFICIENT_PERMISSIONS as for a move
 */
export async function archive(tx: Transaction, agents: Agents, ref: CardRef): Promise<CardRow> {
  const card = await find(tx, ref)
  if (card.archivedAt !== null) return card
  return requireNoNewTurn(tx, byOf(ref), ref.projectId, async () => {
    await endCard(tx, agents, card.id, cancelled, { all: true })
    await order.removeCard(tx, card)
    return changeCard(tx, card, { archivedAt: tx.now }, 'card.archived')
  })
}

/**
 * Unarchives a card to the end of its column, or of the board's first column that is not an archive.
 * @throws Problem CARD_NOT_FOUND, COLUMN_FULL without `force`, INSUFFICIENT_PERMISSIONS if the restored card's agent would start
 */
export async function unarchive(tx: Transaction, agents: Agents, ref: CardRef, force = false): Promise<CardRow> {
  const card = await find(tx, ref)
  if (card.archivedAt === null) return card
  const column =
    card.columnType === 'archive'
      ? await firstOpenColumn(tx, card.boardId)
      : await columnOfProject(tx, ref, card.columnId)
  if (isOrdered(card) && !force) await requireRoom(tx, column)
  const change = { ...(await insertIntoOrder(tx, card, column)), ...pullableAfter(ref, card) }
  const unarchived = await changeCard(tx, card, change, 'card.unarchived')
  await announceProgress(tx, agents, card, unarchived, byOf(ref))
  return resume(tx, agents, unarchived, byOf(ref))
}

/** Inserts a card into a column's order. @returns the changes of its row, for the caller to write with its other changes */
async function insertIntoOrder(
  tx: Transaction,
  card: CardRow,
  column: ColumnRow,
  position?: number,
): Promise<CardChange> {
  const leafId = isOrdered(card) ? await order.moveCard(tx, card, column.id, position) : card.leafId
  const standing = {
    leafId,
    columnId: column.id,
    boardId: column.boardId,
    archivedAt: column.columnType === 'archive' ? (card.archivedAt ?? tx.now) : null,
    doneAt:
      column.columnType === 'done' ? (card.doneAt ?? tx.now) : column.columnType === 'archive' ? card.doneAt : null,
  }
  // Assigning an indexed column rewrites its index entries even if the value is unchanged, which takes half of the time of a move
  // within a column.
  return Object.fromEntries(
    Object.entries(standing).filter(([name, value]) => card[name as keyof typeof standing] !== value),
  )
}

/** Announces the effects of a card that is done, or no longer done, on its parent and its dependents. */
async function announceProgress(
  tx: Transaction,
  agents: Agents,
  before: CardRow,
  after: CardRow,
  by: Starter,
): Promise<void> {
  if ((before.doneAt === null) === (after.doneAt === null)) return
  await announceParent(tx, after)
  agents.reconcile(tx)
  const dependents = await listDependents(tx, [after.id])
  if (after.doneAt !== null) return announceReady(tx, agents, dependents, by)
  for (const dependent of await readCards(tx, dependents)) await announceRow(tx, 'card.updated', dependent)
}

/**
 * Announces that nothing blocks the cards any longer, and starts those in auto mode. Cards that are done or running are not
 * ready.
 * @throws Problem INSUFFICIENT_PERMISSIONS for a card that can start automatically, if the caller cannot start it
 */
export async function announceReady(
  tx: Transaction,
  agents: Agents,
  ids: readonly number[],
  by: Starter | undefined,
): Promise<void> {
  agents.reconcile(tx)
  const cards = (await readCards(tx, ids)).filter(({ openBlockers }) => openBlockers === 0)
  for (const card of cards) {
    if (card.status === 'idle' && card.doneAt === null) await requireMayChangeStart(tx, by, card)
    await announceRow(tx, card.ready === 1 ? 'card.ready' : 'card.updated', card)
  }
  // A card that starts can move, which changes the cards after it.
  for (const { projectId, id } of cards.filter(isStartedWhenReady))
    await startReady(tx, agents, await find(tx, { projectId, cardId: id }))
}

/**
 * Starts a card in auto mode whose last blocker was done while the card was in the trash, in the archive or without auto mode. A
 * card whose start time has come in the meantime is started by `startInTime`.
 * @throws Problem INSUFFICIENT_PERMISSIONS if the caller cannot start it
 */
export async function resume(
  tx: Transaction,
  agents: Agents,
  card: CardRow,
  by: Starter | undefined,
): Promise<CardRow> {
  if (card.startHeld === 1 && card.startAt! <= tx.now && card.openBlockers === 0) requireMayStart(by, card.kind)
  if (card.blockedBy === undefined || card.blockedBy === '[]' || !isStartedWhenReady(card)) return card
  requireMayStart(by, card.kind)
  return startReady(tx, agents, card)
}

const isStartedWhenReady = ({ ready, autoMode, status }: CardRow): boolean =>
  ready === 1 && autoMode === 1 && status === 'idle'

/**
 * Starts a ready card in auto mode: in its column, or from the backlog in the first column of its pipeline. The user who enabled
 * auto mode was allowed to start it, so the author of later changes does not matter. A card that has run before is left to users,
 * because a blocker that is done a second time must not cause a second run.
 */
export async function startReady(tx: Transaction, agents: Agents, card: CardRow): Promise<CardRow> {
  if (!isStartedWhenReady(card)) return card
  const ref = { projectId: card.projectId, cardId: card.id }
  const [step] = await readPipeline(tx, card)
  if (card.columnType === 'active') return startByBoard(tx, agents, card, 'it is no longer blocked')
  if (!step) return card
  const column = await columnOfProject(tx, ref, step.columnId)
  // The gates of a backlog are for people: nothing has been done that the board could check.
  if (!(await hasPassed(tx, card, await listGatesOfStep(tx, card, column), null))) return card
  if (!(await hasRoom(tx, column))) return awaitColumn(tx, card, column)
  const placed = await move(tx, agents, ref, { columnId: column.id }, true)
  return startByBoard(tx, agents, placed, 'it is no longer blocked')
}

/** Leaves a card in its column until the full column that it moves into automatically has capacity. */
export const awaitColumn = async (tx: Transaction, card: CardRow, column: ColumnRow): Promise<CardRow> =>
  card.nextColumnId === column.id
    ? card
    : changeCard(tx, card, { nextColumnId: column.id, lastAgentAction: notStarted(tx, describeCapacityWait(column)) })

/** Moves a card from the previous column into one that pulls, and starts it there. */
export async function pull(tx: Transaction, agents: Agents, card: CardRow, column: ColumnRow): Promise<void> {
  const ref = { projectId: card.projectId, cardId: card.id }
  const moved = await move(tx, agents, ref, { columnId: column.id }, true)
  if (column.columnType === 'active') await startByBoard(tx, agents, moved, `pulled into ${column.name}`)
}

/** Starts a card that the board itself moved, or that waited, and records the reason. */
async function startByBoard(tx: Transaction, agents: Agents, card: CardRow, reason: string): Promise<CardRow> {
  const begun = await startOrHold(tx, agents, card, 'board', undefined)
  if (begun.status === 'queued') insertAuditRow(tx, bySystem('agents.continue', { kind: 'card', id: card.id }, reason))
  return begun
}

const firstOpenColumn = async (tx: Transaction, boardId: number): Promise<ColumnRow> =>
  (await listColumns(tx, boardId)).find(({ columnType }) => columnType !== 'archive') ??
  refuse('COLUMN_NOT_FOUND', 'The board has only archive columns.')
