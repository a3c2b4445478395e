import { Problem } from '../../contract/errors.ts'
import type { ColumnType } from '../../contract/fields.ts'
import { activeColumnsOf, initialSteps } from '../../domain/cards/pipelineSteps.ts'
import type { ColumnRow } from '../../store/boards/columns.ts'
import type { Document } from '../document.ts'
import { bareName, type Draft, type DraftColumn } from './draft.ts'

type NewColumn = Pick<ColumnRow, 'id' | 'name' | 'columnType'>

/** A draft as records, and its columns that already exist: rows by the draft's own IDs. */
export interface DraftDocument {
  document: Document
  columnIds: ReadonlyMap<number, number>
}

const kanban: Array<{ name: string; columnType: ColumnType }> = [
  { name: 'Backlog', columnType: 'backlog' },
  { name: 'In Progress', columnType: 'active' },
  { name: 'Done', columnType: 'done' },
]

/**
 * Converts a draft to records: for a project at `path` with a separate board, or for a board with these columns. `map` assigns
 * columns by their keys, case-insensitive. Cards in active columns are deferred, so no agent starts.
 */
export function draftDocument(
  draft: Draft,
  map: ReadonlyMap<string, string>,
  to: { name: string; path: string | null; columns?: readonly ColumnRow[]; now: string },
): DraftDocument {
  const present = to.columns ?? (draft.columns.every(({ name }) => name === undefined) ? kanban : [])
  const columns: NewColumn[] = present.map(({ name, columnType }, index) => ({ id: index + 1, name, columnType }))
  const columnOf = new Map(
    draft.columns.map(column => [column, columnFor(column, map.get(column.key.toLowerCase()), columns)]),
  )
  if (!to.columns) completeColumns(columns)
  const steps = initialSteps(activeColumnsOf(columns))
  const counts = new Map<number, number>()
  const cards = draft.cards.map(({ column, isArchived, createdAt, updatedAt, comments: _, ...card }, index) => {
    const { id: columnId, columnType } = columnOf.get(column)!
    const archivedAt = isArchived || columnType === 'archive' ? (updatedAt ?? createdAt ?? to.now) : null
    const isOrdered = archivedAt === null || columnType === 'archive'
    const position = isOrdered ? (counts.get(columnId) ?? 0) : null
    if (position !== null) counts.set(columnId, position + 1)
    return {
      id: index + 1,
      columnId,
      position,
      ...card,
      assignees: card.assignees.map(name => ({ name })),
      doneAt: columnType === 'done' ? card.doneAt : undefined,
      pipeline: steps,
      deferred: columnType === 'active',
      createdAt,
      updatedAt: updatedAt ?? createdAt,
      archivedAt,
    }
  })
  const parts: Record<string, readonly unknown[]> = {
    projects: [{ id: 1, name: to.name, path: to.path }],
    boards: [{ id: 1, projectId: 1, name: 'Board', position: 0 }],
    columns: columns.map((column, position) => ({ ...column, boardId: 1, position })),
    cards,
    comments: draft.cards.flatMap(({ comments }, index) => comments.map(each => ({ cardId: index + 1, ...each }))),
  }
  return {
    document: documentOf(parts, draft.warnings),
    columnIds: new Map((to.columns ?? []).map(({ id }, index) => [index + 1, id])),
  }
}

/** The target column of a draft column, which is created if there is none. Live and archived cards go to different columns. */
function columnFor({ name, columnType }: DraftColumn, mapped: string | undefined, columns: NewColumn[]): NewColumn {
  const wanted = mapped ?? name
  const found =
    wanted === undefined
      ? (columns.find(column => column.columnType === columnType) ??
        (columnType === 'backlog' ? columns[0] : undefined))
      : findByName(wanted, mapped === undefined ? columns.filter(isArchive(columnType === 'archive')) : columns)
  if (found) return found
  const free = wanted !== undefined && columns.some(({ name }) => name.toLowerCase() === wanted.toLowerCase())
  const suffix = columnType === 'archive' ? ' (archived)' : ' (open)'
  const made = newColumn(
    columns,
    wanted === undefined ? nameOfType[columnType] : `${wanted}${free ? suffix : ''}`,
    columnType,
  )
  columns.push(made)
  return made
}

const nameOfType = { backlog: 'Backlog', active: 'In Progress', done: 'Done', archive: 'Archive' } as const

const isArchive =
  (wanted: boolean) =>
  ({ columnType }: NewColumn): boolean =>
    (columnType === 'archive') === wanted

const findByName = (name: string, columns: readonly NewColumn[]): NewColumn | undefined =>
  columns.find(column => column.name.toLowerCase() === name.toLowerCase()) ??
  columns.find(column => bareName(name) !== '' && bareName(column.name) === bareName(name))

const newColumn = (columns: readonly NewColumn[], name: string, columnType: ColumnType): NewColumn => ({
  id: columns.length + 1,
  name,
  columnType,
})

/** A board needs a column for agents, and one after it for their results. */
function completeColumns(columns: NewColumn[]): void {
  const hasNo = (type: ColumnType) => !columns.some(({ columnType }) => columnType === type)
  if (hasNo('done')) {
    const last = columns.findLastIndex(({ columnType }) => columnType !== 'archive')
    columns.splice(last + 1, 0, newColumn(columns, nameOfType.done, 'done'))
  }
  if (hasNo('active')) {
    const done = columns.findIndex(({ columnType }) => columnType === 'done')
    columns.splice(done, 0, newColumn(columns, nameOfType.active, 'active'))
  }
}

const documentOf = (parts: Readonly<Record<string, readonly unknown[]>>, warnings: readonly string[]): Document => ({
  exportedAt: undefined,
  organization: null,
  warnings,
  close: async () => {
    /* There is nothing to close. */
  },
  records: async function* (name) {
    for (const [index, value] of (parts[name] ?? []).entries()) yield { place: `${name}.${index}`, value }
  },
})

/** @throws Problem VALIDATION_FAILED */
export function readMap(text: string | undefined): Map<string, string> {
  const wrong = new Problem('VALIDATION_FAILED', 'map must be a JSON object of strings', {
    details: [{ path: 'map', message: 'must be a JSON object of strings: {"Doing": "In Progress"}' }],
  })
  let map: unknown
  try {
    map = JSON.parse(text ?? '{}')
  } catch {
    throw wrong
  }
  if (
    typeof map !== 'object' ||
    map === null ||
    Array.isArray(map) ||
    Object.values(map).some(value => typeof value !== 'string' || value.trim() === '' || value.length > 200)
  )
    throw wrong
  return new Map(Object.entries(map as Record<string, string>).map(([key, name]) => [key.toLowerCase(), name]))
}
