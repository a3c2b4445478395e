import type { ApprovalPolicy } from '../contract/agents/approvalPolicy.ts'
import type { ColumnType } from '../contract/fields.ts'
import { announceCard } from '../domain/cards/cardChanges.ts'
import { appendEvent } from '../events/outbox.ts'
import { insertBoard, readBoard } from '../store/boards/boards.ts'
import { activeStatuses } from '../store/cards/cardFields.ts'
import { insertCard } from '../store/cards/cards.ts'
import { insertColumn, readCountedColumn, updateColumn } from '../store/boards/columns.ts'
import type { Transaction } from '../store/engine/database.ts'
import { exportBoards, exportCards, exportColumns, exportProject } from '../store/projects/exports.ts'
import { insertHiddenProject } from '../store/projects/imports.ts'
import { appendCards } from '../store/cards/order.ts'
import { entriesOf } from '../store/engine/record.ts'
import { board as boardView, column as columnView } from '../views/boards.ts'
import type { RecordIndex } from './recordIndex.ts'
import { pages, part, announceLater, type Made, readByCards } from './part.ts'
import { Board, Card, Column, Project, type CardRecord } from './records.ts'

const readProjectRecord = exportProject(entriesOf(Project))
const readBoardRecords = exportBoards(entriesOf(Board))
const readColumnRecords = exportColumns(entriesOf(Column))
const readCardRecords = exportCards(entriesOf(Card))
const cardsAStep = 1024

export const projects = part({
  name: 'projects',
  schema: Project,
  maxRecords: 1000,
  read: async function* (db, scope) {
    for (const { id } of scope.projects) yield [(await readProjectRecord(db, id))!.json]
  },
  check: (record, known) => known.add('projects', record.id, record),
  checkEnd: known => {
    if (known.all('projects').size === 0) known.addError('', 'must contain a project')
  },
  write: async (
    tx,
    { id, path: _, repositories: _named, copiedFiles, approvalPolicy, afterMerge, ...project },
    made,
  ) => {
    if (made.rows.projects.has(id)) return
    const projectId = await insertHiddenProject(tx, {
      ...project,
      path: made.paths.get(id)!,
      repositories: JSON.stringify(made.repositories.get(id) ?? []),
      ownerId: made.ownerId,
      importer: made.importer,
      copiedFiles: JSON.stringify(copiedFiles),
      afterMerge: JSON.stringify(afterMerge),
      approvalPolicy: JSON.stringify(withoutPermissions(approvalPolicy)),
    })
    made.rows.projects.set(id, { id: projectId, firstBoard: 0 })
    // The ID of a row that is rolled back can become the ID of another project.
    tx.afterCommit(() => made.hidden.push(projectId))
  },
})

/** A file can come from anywhere, so its refusals for agents apply, but not its permissions. */
const withoutPermissions = ({ default: usual, refuse }: ApprovalPolicy): ApprovalPolicy => ({
  default: usual === 'refuse' ? 'refuse' : 'ask',
  allow: [],
  refuse,
})

export const boards = part({
  name: 'boards',
  schema: Board,
  maxRecords: 10_000,
  read: async function* (db, scope) {
    for (const { id } of scope.projects)
      for await (const rows of pages(after => readBoardRecords(db, id, after))) yield rows.map(({ json }) => json)
  },
  check: (record, known) => {
    known.add('boards', record.id, record.projectId)
    if (known.find('projects', record.projectId, 'projectId'))
      known.takePosition(`project ${record.projectId}`, record.position)
  },
  checkEnd: known => {
    known.requireDense()
    const used = new Set(known.all<number>('boards').values())
    for (const id of known.all('projects').keys())
      if (!used.has(id)) known.addError('', `must contain a board of project ${id}`)
  },
  write: async (tx, { id, name, position, createdAt, ...record }, made) => {
    if (made.rows.boards.has(id)) return
    const { id: projectId, firstBoard } = made.rows.projects.get(record.projectId)!
    const boardId = await insertBoard(tx, { projectId, name, position: firstBoard + position, createdAt })
    made.rows.boards.set(id, { id: boardId, projectId })
    announceLater(made, async tx =>
      appendEvent(tx, 'board.created', projectId, boardView((await readBoard(tx, projectId, boardId))!)),
    )
  },
})

export const columns = part({
  name: 'columns',
  schema: Column,
  maxRecords: 100_000,
  read: async function* (db, scope) {
    for (const { id } of scope.projects)
      for await (const rows of pages(after => readColumnRecords(db, id, after))) yield rows.map(({ json }) => json)
  },
  check: (record, known) => {
    const projectId = known.find<number>('boards', record.boardId, 'boardId')
    const { boardId, columnType, mergedColumnId, closedColumnId } = record
    known.add('columns', record.id, {
      projectId,
      boardId,
      columnType,
      place: known.place,
      ways: { mergedColumnId, closedColumnId },
    })
    if (record.columnType === 'archive' && record.wipLimit !== null)
      known.addError('wipLimit', 'must be null for an archive column')
    if (projectId !== undefined) known.takePosition(`board ${record.boardId}`, record.position)
  },
  checkEnd: checkColumns,
  write: async (tx, { id, boardId, pull: _, mergedColumnId, closedColumnId, ...record }, made) => {
    if (made.rows.columns.has(id)) return
    // A file can come from anywhere, so none of its columns starts agents automatically.
    const board = made.rows.boards.get(boardId)!
    const columnId = await insertColumn(tx, { ...record, boardId: board.id, projectId: board.projectId })
    const { columnType } = record
    made.rows.columns.set(id, { id: columnId, boardId: board.id, projectId: board.projectId, columnType })
    if (mergedColumnId !== null || closedColumnId !== null)
      made.afterRequests.set(columnId, { mergedColumnId, closedColumnId })
    announceLater(made, async tx =>
      appendEvent(tx, 'column.created', board.projectId, columnView((await readCountedColumn(tx, columnId))!)),
    )
  },
  finish: function* ({ afterRequests, rows }) {
    const rowOf = (id: number | null) => (id === null ? null : rows.columns.get(id)!.id)
    for (const [id, { mergedColumnId, closedColumnId }] of afterRequests)
      yield (tx: Transaction) =>
        updateColumn(tx, id, { mergedColumnId: rowOf(mergedColumnId), closedColumnId: rowOf(closedColumnId) })
  },
})

/** The target columns of cards after their pull requests: another column of the same board that is not active. */
function checkColumns(known: RecordIndex): void {
  known.requireDense()
  const all = known.all<KnownColumn | undefined>('columns')
  for (const [id, column] of all)
    for (const [field, wanted] of Object.entries(column?.ways ?? {})) {
      const other = wanted === null ? undefined : all.get(wanted)
      const isReachable = wanted !== id && other?.boardId === column!.boardId && other.columnType !== 'active'
      if (wanted !== null && !isReachable)
        known.addErrorAt(`${column!.place}.${field}`, 'must be another column of the same board, and not an active one')
    }
}

export const cards = part({
  name: 'cards',
  schema: Card,
  maxRecords: 500_000,
  read: readByCards(100, readCardRecords),
  check: checkCard,
  checkEnd: known => known.requireDense(),
  write: writeCard,
  finish: function* ({ order }) {
    for (const [columnId, ids] of order)
      for (let from = 0; from < ids.length; from += cardsAStep)
        yield (tx: Transaction) => appendCards(tx, columnId, ids.slice(from, from + cardsAStep))
  },
})

interface KnownColumn {
  projectId: number | undefined
  boardId: number
  columnType: string
  place: string
  ways: Record<string, number | null>
}

function checkCard(card: CardRecord, known: RecordIndex): void {
  const column = known.find<KnownColumn>('columns', card.columnId, 'columnId')
  known.add('cards', card.id, { projectId: column?.projectId, kind: card.kind, base: card.base })
  for (const [index, step] of card.pipeline.entries()) {
    const stepColumn = known.find<KnownColumn>('columns', step.columnId, `pipeline.${index}.columnId`)
    if (stepColumn && column && stepColumn.projectId !== column.projectId)
      known.addError(`pipeline.${index}.columnId`, "must be a column of the card's project")
  }
  const { mergedAt, mergedCommit, mergedInto } = card
  if (new Set([mergedAt, mergedCommit, mergedInto].map(value => value === null)).size > 1)
    known.addError('mergedAt', 'is required together with mergedCommit and mergedInto')
  if ((card.kind === 'terminal') !== (card.command !== null))
    known.addError(
      'command',
      card.kind === 'terminal' ? 'is required for a terminal card' : 'applies only to terminal cards',
    )
  if (!column) return
  checkPlace(card, column, known)
  if (card.kind === 'assistant') known.takePosition(`project ${column.projectId}`, 0, 'kind')
}

/** Kanban cards have a place in their column unless they are archived elsewhere than in an archive column. */
function checkPlace(card: CardRecord, { columnType }: KnownColumn, known: RecordIndex): void {
  if (columnType === 'archive' && card.archivedAt === null)
    known.addError('archivedAt', 'is required in an archive column')
  const isOrdered = card.kind === 'kanban' && (card.archivedAt === null || columnType === 'archive')
  if (isOrdered !== (card.position !== null))
    known.addError(
      'position',
      isOrdered ? 'is required' : 'must be null, because the card is archived or not a kanban card',
    )
  else if (card.position !== null) known.takePosition(`column ${card.columnId}`, card.position)
}

/**
 * A running card is interrupted, as when a server stops. A project has one assistant, so the assistant in the file is omitted if the
 * project can already have one.
 */
async function writeCard(tx: Transaction, { id, position, ...card }: CardRecord, made: Made): Promise<void> {
  if (card.kind === 'assistant' && made.intoExisting) return
  const { id: columnId, boardId, projectId, columnType } = made.rows.columns.get(card.columnId)!
  const wasActive = activeStatuses.includes(card.status)
  const cardId = await insertCard(tx, {
    ...card,
    columnId,
    boardId,
    projectId,
    labels: JSON.stringify(card.labels),
    source: card.source && JSON.stringify(card.source),
    assignees: JSON.stringify(card.assignees),
    doneAt: doneAtOf(card, columnType, made),
    startHeld: card.startAt !== null && card.startAt > tx.now,
    lastAgentAction: card.lastAgentAction && JSON.stringify(card.lastAgentAction),
    pipeline: JSON.stringify(
      card.pipeline.map(step => ({ ...step, columnId: made.rows.columns.get(step.columnId)!.id })),
    ),
    ...(wasActive && { status: 'interrupted', statusReason: 'server_restart', endedAt: made.exportedAt, unread: true }),
  })
  made.rows.cards.set(id, { id: cardId, projectId })
  if (position !== null) {
    const order = made.order.get(columnId) ?? []
    order[position] = cardId
    made.order.set(columnId, order)
  }
  announceLater(made, async tx => void (await announceCard(tx, 'card.created', { id: cardId, projectId })))
}

/**
 * A card in a done column is done, even if the file does not state since when. A card in any other column, except an archive, is not done.
 */
const doneAtOf = (
  card: Pick<CardRecord, 'doneAt' | 'endedAt' | 'updatedAt'>,
  columnType: ColumnType,
  { exportedAt }: Made,
): string | null =>
  columnType === 'done'
    ? (card.doneAt ?? card.endedAt ?? card.updatedAt ?? exportedAt)
    : columnType === 'archive'
      ? card.doneAt
      : null
