import { invalid, Problem } from '../contract/errors.ts'
import type { CardKind } from '../contract/fields.ts'
import { append } from '../events/outbox.ts'
import {
  archivedCardIds,
  insertCard,
  markRead,
  markSomeRead,
  purgeCards,
  readCard,
  readDeletedCard,
  readExternalJson,
  updateCard,
  type CardChange,
  type CardRow,
} from '../store/cards.ts'
import { listColumns, listDefaultColumns, readColumn, readFirstColumn, type ColumnRow } from '../store/columns.ts'
import type { Reader, Transaction } from '../store/database.ts'
import * as order from '../store/order.ts'
import type { Caller } from './caller.ts'
import { cardDetail, hasActiveAgent } from '../views/cards.ts'
import { projectRole } from './access.ts'
import { cancelled, endCard, notStarted, obstacle, start, type Agents, type Ending } from './sessions.ts'
import { mayStart, refusal, requireMayStart, type Starter } from './starting.ts'
import { initialSteps } from './steps.ts'

const restorableMs = 30 * 86_400_000
/** How long others who write wait for the removal of many. */
const mostRemovingMs = 150

/** Which card, of which kind if only one will do, the version that the caller believes it has (`If-Match`), and who the caller is. */
export interface CardRef {
  projectId: number
  cardId: number
  kind?: CardKind
  ifMatch?: string
  caller?: Caller
}
/** Which card somebody wants to start. */
export type StartRef = CardRef & { caller: Caller }
export interface NewCard {
  projectId: number
  caller: Caller
  title: string
  prompt: string
  columnId?: number
  labels?: readonly string[]
  groupId?: string | null
  useWorktree: boolean
  deferred?: boolean
  autoMode?: boolean
  agent?: string | null
  kind?: CardKind
  command?: string | null
}

/** @throws Problem CARD_NOT_FOUND */
export async function find(db: Reader, { projectId, cardId, kind }: CardRef): Promise<CardRow> {
  const card = await readCard(db, projectId, cardId)
  return card && (kind === undefined || card.kind === kind) ? card : refuse('CARD_NOT_FOUND')
}

/** A card in the external view as JSON text, which the database makes. @throws Problem CARD_NOT_FOUND, also for a card that is no kanban card */
export async function findExternalJson(
  db: Reader,
  { projectId, cardId }: CardRef,
): Promise<{ json: string; version: number }> {
  return (await readExternalJson(db, projectId, cardId)) ?? refuse('CARD_NOT_FOUND')
}

/**
 * Creates a card at the end of a column: the given one, or the first of the project's default board.
 * In an active column its agent starts, unless the card is deferred. What a caller makes who may not start agents is automation.
 * @throws Problem COLUMN_NOT_FOUND, COLUMN_IN_OTHER_PROJECT, VALIDATION_FAILED for a terminal card without a command,
 *   INSUFFICIENT_PERMISSIONS for a command or auto mode of a caller who may not start them, and COLUMN_NOT_ON_DEFAULT_BOARD when `automation` made the card
 */
export async function create(tx: Transaction, agents: Agents, card: NewCard, automation = false): Promise<CardRow> {
  const { column, columns } = await placeForNewCard(tx, card, automation)
  const { kind = 'kanban', caller } = card
  const refused = automation ? undefined : refusal(caller, kind)
  const deferred = (card.deferred ?? automation) || refused !== undefined
  if ((card.kind === 'terminal') !== (typeof card.command === 'string'))
    throw invalid(
      'command',
      card.kind === 'terminal' ? 'is required for a terminal card' : 'is for terminal cards only',
    )
  if (refused && (kind === 'terminal' || card.autoMode)) throw refused
  const made = insertCard(tx, {
    projectId: card.projectId,
    boardId: column.boardId,
    columnId: column.id,
    title: card.title,
    prompt: card.prompt,
    labels: JSON.stringify(card.labels ?? []),
    groupId: card.groupId ?? null,
    kind: card.kind,
    agent: card.agent ?? null,
    command: card.command ?? null,
    useWorktree: card.useWorktree,
    deferred,
    autoMode: card.autoMode ?? false,
    unread: automation,
    pipeline: JSON.stringify(initialSteps(columns)),
    archivedAt: column.columnType === 'archive' ? tx.now : null,
    lastAgentAction: refused && !card.deferred && column.columnType === 'active' ? notStarted(tx, refused) : null,
  })
  if (isOrdered(card)) await order.insertCard(tx, column.id, made)
  const created = await announce(tx, 'card.created', { projectId: card.projectId, cardId: await made })
  return column.columnType === 'active' && !deferred ? started(tx, agents, created, caller) : created
}

/** Whether making a card would ask for an agent, as far as can be told before. */
export async function wouldStart(
  db: Reader,
  { projectId, columnId, deferred }: Pick<NewCard, 'projectId' | 'columnId' | 'deferred'>,
): Promise<boolean> {
  if (deferred) return false
  const column = columnId === undefined ? (await listDefaultColumns(db, projectId))[0] : await readColumn(db, columnId)
  return column?.columnType === 'active'
}

/** Changes a card's fields. @throws Problem CARD_NOT_FOUND, VERSION_CONFLICT, INSUFFICIENT_PERMISSIONS for auto mode of a caller who may not start agents */
export async function update(
  tx: Transaction,
  ref: CardRef,
  change: {
    title?: string
    prompt?: string
    labels?: readonly string[]
    groupId?: string | null
    useWorktree?: boolean
    autoMode?: boolean
    agent?: string | null
  },
): Promise<CardRow> {
  const card = await findVersion(tx, ref)
  if (change.autoMode) requireMayStart(ref.caller, card.kind)
  const { labels, ...plain } = change
  const given: { -readonly [Field in keyof CardChange]: CardChange[Field] } = Object.fromEntries(
    Object.entries(plain).filter(([, value]) => value !== undefined),
  )
  if (labels) given.labels = JSON.stringify(labels)
  if (Object.keys(given).length === 0) return card
  await updateCard(tx, card.id, given)
  return announce(tx, 'card.updated', ref)
}

/**
 * Moves a card to a zero-based place of a column of its project; without a place, to the end.
 * A move into an archive column archives the card, a move out of one brings it back. Leaving an active column ends the
 * agent, entering one starts it, unless `automation` moves the card, or a caller who may not start agents. With `mustStart` a
 * move that starts nothing is refused.
 * @throws Problem CARD_NOT_FOUND, COLUMN_NOT_FOUND, COLUMN_IN_OTHER_PROJECT, VERSION_CONFLICT, INSUFFICIENT_PERMISSIONS for a
 *   terminal card of a caller who may not run its command; with `mustStart` also CONFLICT, AGENT_UNAVAILABLE
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
    entersActive && !automation ? await obstacle(tx, agents, { ...card, columnId: column.id }, ref.caller) : undefined
  if (problem && (to.mustStart || card.kind === 'terminal')) throw problem
  if (column.id !== card.columnId && (card.columnType === 'active' || entersActive || column.columnType === 'archive'))
    await endCard(tx, agents, card.id, ending, { all: column.columnType === 'archive' })
  await place(tx, card, column, to.position, {
    ...(entersActive && { deferred: automation || !mayStart(ref.caller, card.kind) }),
    ...(problem && { lastAgentAction: notStarted(tx, problem) }),
  })
  const moved = await find(tx, ref)
  const from = { columnId: String(card.columnId), position: card.position }
  await append(
    tx,
    'card.moved',
    ref.projectId,
    Object.assign(cardDetail(moved), { from, to: { columnId: String(moved.columnId), position: moved.position } }),
  )
  if ((card.archivedAt === null) !== (moved.archivedAt === null))
    await append(tx, moved.archivedAt === null ? 'card.unarchived' : 'card.archived', ref.projectId, cardDetail(moved))
  return entersActive && !automation && !problem ? started(tx, agents, moved, ref.caller!) : moved
}

/** Moves a card to its board's first done column and ends its session. @throws Problem CARD_NOT_FOUND, COLUMN_NOT_FOUND when the board has none */
export async function complete(tx: Transaction, agents: Agents, ref: CardRef): Promise<CardRow> {
  const card = await find(tx, ref)
  const done =
    (await readFirstColumn(tx, card.boardId, 'done')) ?? refuse('COLUMN_NOT_FOUND', 'The board has no done column.')
  await endCard(tx, agents, card.id, completedByHand)
  if (card.columnId !== done.id) await move(tx, agents, ref, { columnId: done.id })
  return announce(tx, 'card.completed', ref)
}

/** Starts what automation left aside. @throws Problem CARD_NOT_FOUND, CARD_NOT_DEFERRED, INSUFFICIENT_PERMISSIONS */
export async function activate(tx: Transaction, agents: Agents, ref: StartRef): Promise<CardRow> {
  const card = await find(tx, ref)
  if (card.deferred === 0) throw new Problem('CARD_NOT_DEFERRED')
  requireMayStart(ref.caller, card.kind)
  const starts = card.columnType === 'active' && card.archivedAt === null && !hasActiveAgent(card)
  const problem = starts ? await obstacle(tx, agents, card, ref.caller) : undefined
  await updateCard(tx, card.id, { deferred: false, ...(problem && { lastAgentAction: notStarted(tx, problem) }) })
  const activated = await announce(tx, 'card.updated', ref)
  return starts && !problem ? started(tx, agents, activated, ref.caller) : activated
}

/** Takes a card off its column's order and out of lists and counts, and ends its agent. An archived card stays as it is. @throws Problem CARD_NOT_FOUND */
export async function archive(tx: Transaction, agents: Agents, ref: CardRef): Promise<CardRow> {
  const card = await find(tx, ref)
  if (card.archivedAt !== null) return card
  await endCard(tx, agents, card.id, cancelled, { all: true })
  await order.removeCard(tx, card)
  await updateCard(tx, card.id, { archivedAt: tx.now })
  return announce(tx, 'card.archived', ref)
}

/** Brings an archived card back to the end of its column; out of an archive column to the board's first other one. @throws Problem CARD_NOT_FOUND */
export async function unarchive(tx: Transaction, ref: CardRef): Promise<CardRow> {
  const card = await find(tx, ref)
  if (card.archivedAt === null) return card
  const column =
    card.columnType === 'archive'
      ? await firstOpenColumn(tx, card.boardId)
      : await columnOfProject(tx, ref, card.columnId)
  await place(tx, card, column)
  return announce(tx, 'card.unarchived', ref)
}

/** Hides a card everywhere and ends its agent; `restore` brings it back within 30 days. The caller has checked its worktree. @throws Problem CARD_NOT_FOUND */
export async function remove(tx: Transaction, agents: Agents, ref: CardRef): Promise<void> {
  const card = await find(tx, ref)
  await endCard(tx, agents, card.id, cancelled, { all: true })
  await order.removeCard(tx, card)
  await updateCard(tx, card.id, { deletedAt: tx.now })
  await append(tx, 'card.deleted', ref.projectId, { id: String(card.id), columnId: String(card.columnId) })
}

/** Brings a deleted card back to the end of its column. @throws Problem CARD_NOT_FOUND */
export async function restore(tx: Transaction, ref: CardRef): Promise<CardRow> {
  const card = (await readDeletedCard(tx, ref.projectId, ref.cardId)) ?? refuse('CARD_NOT_FOUND')
  if (isOrdered(card) && (card.archivedAt === null || card.columnType === 'archive'))
    await order.insertCard(tx, card.columnId, card.id)
  await updateCard(tx, card.id, { deletedAt: null })
  return announce(tx, 'card.restored', ref)
}

/** Marks a card as read. @throws Problem CARD_NOT_FOUND */
export async function view(tx: Transaction, ref: CardRef): Promise<void> {
  const card = await find(tx, ref)
  if (await markRead(tx, card.id)) await append(tx, 'card.viewed', ref.projectId, { id: String(card.id) })
}

/** Marks at most 500 of a project's cards as read and tells whether there may be more. */
export async function viewSome(tx: Transaction, projectId: number): Promise<boolean> {
  const ids = await markSomeRead(tx, projectId, 500)
  for (const id of ids) await append(tx, 'card.viewed', projectId, { id: String(id) })
  return ids.length === 500
}

/** Deletes at most 200 cards of a column, then those that were archived from it, as many as a short transaction has time for, and tells whether there may be more. @throws Problem COLUMN_NOT_FOUND */
export async function removeSome(
  tx: Transaction,
  agents: Agents,
  projectId: number,
  columnId: number,
): Promise<boolean> {
  await columnOfProject(tx, { projectId }, columnId)
  const ordered = await order.orderedIds(tx, columnId, 0, 200)
  const ids = ordered.length > 0 ? ordered : await archivedCardIds(tx, projectId, columnId, 200)
  const endMs = performance.now() + mostRemovingMs
  for (const [at, cardId] of ids.entries()) {
    await remove(tx, agents, { projectId, cardId })
    if (performance.now() > endMs && at + 1 < ids.length) return true
  }
  return ordered.length > 0 || ids.length === 200
}

/** Removes some of the cards for good that were deleted over 30 days ago, and tells how many. */
export const purge = (tx: Transaction): Promise<number> =>
  purgeCards(tx, new Date(Date.parse(tx.now) - restorableMs).toISOString(), 100)

async function place(
  tx: Transaction,
  card: CardRow,
  column: ColumnRow,
  position?: number,
  change: CardChange = {},
): Promise<void> {
  const chunkId = isOrdered(card) ? await order.moveCard(tx, card, column.id, position) : card.chunkId
  const standing = {
    chunkId,
    columnId: column.id,
    boardId: column.boardId,
    archivedAt: column.columnType === 'archive' ? (card.archivedAt ?? tx.now) : null,
  }
  // What is named is written to every index that holds it, even if it stays: half of what a move within a column would cost.
  const changed = Object.entries(standing).filter(([field, value]) => card[field as keyof typeof standing] !== value)
  await updateCard(tx, card.id, { ...Object.fromEntries(changed), ...change })
}

async function announce(
  tx: Transaction,
  type: 'card.created' | 'card.updated' | 'card.completed' | 'card.archived' | 'card.unarchived' | 'card.restored',
  ref: CardRef,
): Promise<CardRow> {
  const card = await find(tx, ref)
  await append(tx, type, ref.projectId, cardDetail(card))
  return card
}

async function findVersion(tx: Transaction, ref: CardRef): Promise<CardRow> {
  const card = await find(tx, ref)
  const seen = ref.ifMatch?.split(',').map(tag => tag.trim().replace(/^W\//, ''))
  if (seen && !seen.includes('*') && !seen.includes(`"${card.version}"`))
    throw new Problem('VERSION_CONFLICT', `The card has version ${card.version} now.`)
  return card
}

/** The column for a new card, and all columns of its board. */
async function placeForNewCard(
  tx: Transaction,
  card: NewCard,
  automation: boolean,
): Promise<{ column: ColumnRow; columns: ColumnRow[] }> {
  const columns = await listDefaultColumns(tx, card.projectId)
  const wanted =
    card.columnId === undefined
      ? (columns[0] ?? refuse('COLUMN_NOT_FOUND', 'The default board has no columns.'))
      : columns.find(({ id }) => id === card.columnId)
  if (wanted) return { column: wanted, columns }
  const column = await columnOfProject(tx, card, card.columnId!)
  if (automation) throw new Problem('COLUMN_NOT_ON_DEFAULT_BOARD')
  return { column, columns: await listColumns(tx, column.boardId) }
}

/**
 * A column of another project is told apart only to a caller who may see that project; to others it does not exist.
 * @throws Problem COLUMN_NOT_FOUND, COLUMN_IN_OTHER_PROJECT
 */
export async function columnOfProject(
  db: Reader,
  { projectId, caller }: { projectId: number; caller?: Caller },
  columnId: number,
): Promise<ColumnRow> {
  const column = (await readColumn(db, columnId)) ?? refuse('COLUMN_NOT_FOUND')
  if (column.projectId === projectId) return column
  throw new Problem(
    caller && (await projectRole(db, caller, column.projectId)) ? 'COLUMN_IN_OTHER_PROJECT' : 'COLUMN_NOT_FOUND',
  )
}

async function firstOpenColumn(tx: Transaction, boardId: number): Promise<ColumnRow> {
  const board = await listColumns(tx, boardId)
  return (
    board.find(({ columnType }) => columnType !== 'archive') ??
    refuse('COLUMN_NOT_FOUND', 'The board has no column but archive columns.')
  )
}

/** A card after its agent was asked for. */
async function started(tx: Transaction, agents: Agents, card: CardRow, by: Starter): Promise<CardRow> {
  await start(tx, agents, card, by)
  return find(tx, { projectId: card.projectId, cardId: card.id })
}

const completedByHand: Ending = { status: 'completed', detail: 'Completed by hand.' }

/** Only kanban cards have a place in their column. */
const isOrdered = ({ kind = 'kanban' }: { kind?: CardKind }): boolean => kind === 'kanban'

function refuse(code: ConstructorParameters<typeof Problem>[0], message?: string): never {
  throw new Problem(code, message)
}
