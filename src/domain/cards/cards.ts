import type { AgentChoice } from '../../contract/agents/agentChoice.ts'
import { planNames, type Plan } from '../../contract/cards/cardPlan.ts'
import { invalid, Problem, refuse } from '../../contract/errors.ts'
import type { CardKind } from '../../contract/fields.ts'
import type { IssueSummary } from '../../contract/forges/issueRecords.ts'
import { appendEvent } from '../../events/outbox.ts'
import {
  insertCard,
  markRead,
  markSomeRead,
  readCard,
  readExternalJson,
  type CardChange,
  type CardRow,
} from '../../store/cards/cards.ts'
import { listColumns, readColumn, readDefaultColumn, type ColumnRow } from '../../store/boards/columns.ts'
import { readCredentialOfCard, readCredentialOfProject } from '../../store/accounts/credentials.ts'
import type { Reader, Transaction } from '../../store/engine/database.ts'
import { replaceBlockers } from '../../store/cards/dependencies.ts'
import * as order from '../../store/cards/order.ts'
import { recordActivity } from './activity.ts'
import { noAccount, type Caller } from '../accounts/caller.ts'
import { projectRole } from '../accounts/access.ts'
import { changedBase, type CardBase } from './cardBase.ts'
import { isOrdered, requireRoom } from '../boards/columnLimits.ts'
import { namesAny, startFields, taskFields, type CardEdit } from './cardEditFields.ts'
import { cardLevels, changedChoice, noChoice, projectLevels, type KnownAgents } from '../agents/agentChoice.ts'
import { announceCard, announceNew, announceParent, changeCard } from './cardChanges.ts'
import { assigneesFor, noteAssigned, type CardPlan, watch } from './cardPeople.ts'
import { requireOrder, type CardOrder } from './dependencies.ts'
import { notStarted, type Agents } from '../agents/sessions.ts'
import { mayStart, startRefusal, requireMayChangeStart, requireMayStart } from './startPermission.ts'
import { findHold, heldFields, startOrHold } from './startOrHold.ts'
import { startTimeFields } from './startTimes.ts'
import { countSessionCard } from '../agents/sessionCards.ts'
import { activeColumnsOf, initialSteps } from './pipelineSteps.ts'

/**
 * Identifies a card: its kind if only one is allowed, the version that the caller expects (`If-Match`), and the caller. `trees` are those of
 * the card's current files, for a step that requires proofs: null if it has none, undefined if they were not read.
 */
export interface CardRef {
  projectId: number
  cardId: number
  kind?: CardKind
  ifMatch?: string
  caller?: Caller
  trees?: string | null
}
/** A card that a caller wants to start. */
export type StartRef = CardRef & { caller: Caller }
export interface NewCard extends Partial<AgentChoice>, CardOrder, CardPlan, CardBase {
  projectId: number
  caller: Caller
  title: string
  prompt: string
  columnId?: number
  labels?: readonly string[]
  groupId?: string | null
  useWorktree: boolean
  deferred?: boolean
  mustStart?: boolean
  autoMode?: boolean
  /** Whether a full column accepts the card. */
  force?: boolean
  kind?: CardKind
  command?: string | null
  /** The issue that the card is created from. */
  issue?: IssueSummary
}

/** @throws Problem CARD_NOT_FOUND */
export async function find(db: Reader, { projectId, cardId, kind }: CardRef): Promise<CardRow> {
  const card = await readCard(db, projectId, cardId)
  return card && (kind === undefined || card.kind === kind) ? card : refuse('CARD_NOT_FOUND')
}

/**
 * A card in the external view, as JSON text that the database generates.
 * @throws Problem CARD_NOT_FOUND, also for a card of a kind other than kanban
 */
export async function findExternalJson(
  db: Reader,
  { projectId, cardId }: CardRef,
): Promise<{ json: string; version: number }> {
  return (await readExternalJson(db, projectId, cardId)) ?? refuse('CARD_NOT_FOUND')
}

/**
 * Creates a card at the end of a column: the given one, or the first of the project's default board.
 * - In an active column, its agent starts, unless the card is deferred or the caller cannot start agents.
 * - With `mustStart`, a card that starts nothing is refused.
 * - A card that waits for others or for a time does not start. If a budget is exhausted, its session waits for the budget.
 * @throws Problem COLUMN_NOT_FOUND, CARD_NOT_FOUND, COLUMN_IN_OTHER_PROJECT, COLUMN_FULL without `force`, CARD_LIMIT_REACHED for
 * a session, VALIDATION_FAILED for a terminal card without a command, INSUFFICIENT_PERMISSIONS for a command or auto mode of a
 * caller who cannot start them, COLUMN_NOT_ON_DEFAULT_BOARD if `automation` created the card, and with `mustStart` CONFLICT,
 * AGENT_UNAVAILABLE, CARD_BLOCKED, BUDGET_EXHAUSTED
 */
export async function create(tx: Transaction, agents: Agents, card: NewCard, automation = false): Promise<CardRow> {
  await countSessionCard(tx, card.projectId, card.caller)
  const { column, activeColumns } = await placeForNewCard(tx, card, automation)
  const { kind = 'kanban', caller } = card
  const refused = automation ? undefined : startRefusal(caller, kind)
  const deferred = (card.deferred ?? automation) || refused !== undefined
  requireCommand(card)
  if (refused && (kind === 'terminal' || card.autoMode || card.mustStart)) throw refused
  const starts = column.columnType === 'active' && !deferred
  if (card.mustStart && !starts) refuse('CONFLICT', startsNothing)
  const { blockedBy = [], parentId = null, discoveredFromId = caller.agent?.cardId ?? null } = card
  await requireOrder(tx, card, { blockedBy, parentId, discoveredFromId })
  const id = await insertCard(tx, {
    projectId: card.projectId,
    boardId: column.boardId,
    columnId: column.id,
    title: card.title,
    prompt: card.prompt,
    labels: JSON.stringify(card.labels ?? []),
    groupId: card.groupId ?? null,
    ...(await assigneesFor(tx, card, card)),
    ...(Object.fromEntries(planNames.map(name => [name, card[name]])) as Plan),
    kind: card.kind,
    ...(await chooseForNewCard(tx, agents, card, column)),
    command: card.command ?? null,
    issue: card.issue && JSON.stringify(card.issue),
    useWorktree: card.useWorktree,
    ...(await changedBase(tx, card, card)),
    deferred,
    autoMode: card.autoMode ?? false,
    pullable: mayStart(caller, kind),
    parentId,
    discoveredFromId,
    ...(await startTimeFields(tx, card, caller)),
    unread: automation,
    creatorId: caller.userId === noAccount ? null : caller.userId,
    creatorName: caller.displayName,
    pipeline: JSON.stringify(initialSteps(activeColumns)),
    archivedAt: column.columnType === 'archive' ? tx.now : null,
    doneAt: column.columnType === 'done' ? tx.now : null,
    lastAgentAction: refused && !card.deferred && column.columnType === 'active' ? notStarted(tx, refused) : null,
  })
  if (isOrdered(card)) await order.insertCard(tx, column.id, id)
  if (blockedBy.length > 0) await replaceBlockers(tx, id, blockedBy)
  const made = await find(tx, { projectId: card.projectId, cardId: id })
  await announceNew(tx, made)
  const created = await noteAssigned(tx, undefined, made, caller)
  recordActivity(tx, created.id, 'card.created', [{ field: 'columnName', from: null, to: created.columnName }])
  await announceParent(tx, created)
  return starts ? startCreated(tx, agents, created, card) : created
}

const chooseForNewCard = (
  tx: Transaction,
  agents: KnownAgents,
  card: NewCard,
  column: ColumnRow,
): Promise<Partial<AgentChoice>> =>
  changedChoice(
    tx,
    agents,
    card,
    async () => [noChoice, column, ...(await projectLevels(tx, card.projectId))],
    id => readCredentialOfProject(tx, card.projectId, id),
  )

const startsNothing = 'No agent would start on the card, because it is deferred or its column is not active.'

async function startCreated(
  tx: Transaction,
  agents: Agents,
  created: CardRow,
  { caller, mustStart }: Pick<NewCard, 'caller' | 'mustStart'>,
): Promise<CardRow> {
  const hold = await findHold(tx, agents, created, caller)
  if (hold && mustStart) throw hold
  const card = hold ? await changeCard(tx, created, heldFields(tx, hold)) : created
  return startOrHold(tx, agents, card, caller, hold)
}

/** @throws Problem VALIDATION_FAILED */
function requireCommand({ kind, command }: NewCard): void {
  const isTerminal = kind === 'terminal'
  if (isTerminal !== (typeof command === 'string'))
    throw invalid('command', isTerminal ? 'is required for a terminal card' : 'applies only to terminal cards')
}

/** Predicts whether creating a card would start an agent. */
export async function wouldStart(
  db: Reader,
  { projectId, columnId, deferred }: Pick<NewCard, 'projectId' | 'columnId' | 'deferred'>,
): Promise<boolean> {
  if (deferred) return false
  const column = await (columnId === undefined ? readDefaultColumn(db, projectId) : readColumn(db, columnId))
  return column?.columnType === 'active'
}

/**
 * Changes a card's fields.
 * @throws Problem CARD_NOT_FOUND, VERSION_CONFLICT, DEPENDENCY_CYCLE, and, for a caller who cannot start agents,
 * INSUFFICIENT_PERMISSIONS for auto mode, and for the task or the start of a card that can start automatically
 */
export async function update(tx: Transaction, agents: KnownAgents, ref: CardRef, change: CardEdit): Promise<CardRow> {
  const card = await findVersion(tx, ref)
  if (change.autoMode) requireMayStart(ref.caller, card.kind)
  if (namesAny(change, startFields)) await requireMayChangeStart(tx, ref.caller, card)
  const { labels, blockedBy, watching, assigneeIds: _ids, assigneeNames: _names, ...plain } = change
  await requireOrder(tx, card, change)
  const given: { -readonly [Field in keyof CardChange]: CardChange[Field] } = Object.fromEntries(
    Object.entries(plain).filter(([, value]) => value !== undefined),
  )
  const readCredential = (id: number | null) => readCredentialOfCard(tx, card.id, id)
  Object.assign(given, await changedBase(tx, card, change))
  Object.assign(given, await startTimeFields(tx, change, ref.caller))
  Object.assign(given, await changedChoice(tx, agents, change, () => cardLevels(tx, card), readCredential))
  if (labels) given.labels = JSON.stringify(labels)
  Object.assign(given, await assigneesFor(tx, card, change))
  if (watching !== undefined) watch(tx, card, ref.caller, watching)
  if (namesAny(change, taskFields) && !mayStart(ref.caller, card.kind)) given.pullable = false
  if (change.autoMode === false) given.nextColumnId = null
  if (blockedBy) await replaceBlockers(tx, card.id, blockedBy)
  if (Object.keys(given).length === 0 && !blockedBy)
    return watching === undefined ? card : announceCard(tx, 'card.updated', card)
  const changed = await noteAssigned(tx, card, await changeCard(tx, card, given), ref.caller, watching !== undefined)
  if (changed.parentId === card.parentId) return changed
  await announceParent(tx, card)
  await announceParent(tx, changed)
  return changed
}

/** Sets whether the caller watches a card. @throws Problem CARD_NOT_FOUND, VALIDATION_FAILED for a caller without an account */
export async function setWatching(tx: Transaction, ref: CardRef, watching: boolean): Promise<CardRow> {
  const card = await find(tx, ref)
  watch(tx, card, ref.caller, watching)
  return announceCard(tx, 'card.updated', card)
}

/** Marks a card as read. @throws Problem CARD_NOT_FOUND */
export async function view(tx: Transaction, ref: CardRef): Promise<void> {
  const card = await find(tx, ref)
  if (await markRead(tx, card.id)) await appendEvent(tx, 'card.viewed', ref.projectId, { id: String(card.id) })
}

/** Marks up to 500 of a project's cards as read. @returns whether there might be more */
export async function viewSome(tx: Transaction, projectId: number): Promise<boolean> {
  const ids = await markSomeRead(tx, projectId, 500)
  for (const id of ids) await appendEvent(tx, 'card.viewed', projectId, { id: String(id) })
  return ids.length === 500
}

/** The card, if it has the expected version. @throws Problem CARD_NOT_FOUND, VERSION_CONFLICT */
export async function findVersion(tx: Transaction, ref: CardRef): Promise<CardRow> {
  const card = await find(tx, ref)
  const seen = ref.ifMatch?.split(',').map(tag => tag.trim().replace(/^W\//, ''))
  if (seen && !seen.includes('*') && !seen.includes(`"${card.version}"`))
    throw new Problem('VERSION_CONFLICT', `The card is now at version ${card.version}.`)
  return card
}

/** The column for a new card, and the active columns of its board. */
async function placeForNewCard(
  tx: Transaction,
  card: NewCard,
  automation: boolean,
): Promise<{ column: ColumnRow; activeColumns: number[] }> {
  const wanted = await readDefaultColumn(tx, card.projectId, card.columnId)
  if (!wanted && card.columnId === undefined) refuse('COLUMN_NOT_FOUND', 'The default board has no columns.')
  const column = wanted ?? (await columnOfProject(tx, card, card.columnId!))
  if (!wanted && automation) throw new Problem('COLUMN_NOT_ON_DEFAULT_BOARD')
  if (isOrdered(card) && !card.force) await requireRoom(tx, column)
  const activeColumns = wanted
    ? (JSON.parse(wanted.activeColumns) as number[])
    : activeColumnsOf(await listColumns(tx, column.boardId))
  return { column, activeColumns }
}

/**
 * Reports a column of another project as such only to callers who can see that project.
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
