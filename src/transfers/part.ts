import type { GenericSchema, InferOutput } from 'valibot'
import type { ColumnType } from '../contract/fields.ts'
import type { Repository } from '../contract/repositories.ts'
import type { SavedFile } from '../domain/attachmentFiles.ts'
import type { Reader, Transaction } from '../store/database.ts'
import type { RecordIndex } from './recordIndex.ts'

/** What is exported: the projects with the ids of their cards, and the organization if it is one. */
export interface Scope {
  organizationId: number | null
  /** Who exports: templates are their owner's. */
  exporterId: number
  projects: ReadonlyArray<{ id: number; cardIds: readonly number[] }>
}

/** What an import has made so far: the rows for the ids of the file. */
export interface Made {
  ownerId: number
  /** The daemon that imports. */
  importer: string
  /** The folders of projects, by the file's ids. */
  paths: ReadonlyMap<number, string>
  /** Their other repositories, as far as they are here. */
  repositories: ReadonlyMap<number, readonly Repository[]>
  /** Whether the project was there before. */
  intoExisting: boolean
  /** When the file was made: whatever was going on then ended. */
  exportedAt: string
  rows: { [Name in keyof MadeRows]: Map<number, MadeRows[Name]> }
  /** New projects that are on disk. */
  hidden: number[]
  /** The cards that are to stand in a column, by its row, in their order. */
  order: Map<number, number[]>
  /** Where cards of columns go after their requests, by the column's row and the file's ids. */
  afterRequests: Map<number, { mergedColumnId: number | null; closedColumnId: number | null }>
  /** Files of attachments on disk. */
  files: Map<number, SavedFile>
  /** The templates that are there, once they have been looked up. */
  templates: Set<string> | undefined
  /** Events about what was made in a project that was there before. */
  news: Array<(tx: Transaction) => Promise<void>>
}
interface MadeRows {
  projects: { id: number; firstBoard: number }
  boards: { id: number; projectId: number }
  columns: { id: number; boardId: number; projectId: number; columnType: ColumnType }
  cards: { id: number; projectId: number }
  attachments: { id: number }
  sessions: { id: number; cardId: number; isPre: boolean }
}

/**
 * A part of a board's file: a named list of records, with their schema, how they are read from the database, the rules between them,
 * and how rows are made from them.
 */
export interface Part<S extends GenericSchema = GenericSchema> {
  name: string
  schema: S
  /** How many records a file may hold. */
  maxRecords: number
  /** Pages of records as JSON texts. Without it an export writes them behind everything else. */
  read?(db: Reader, scope: Scope): AsyncIterable<readonly string[]>
  /** Checks what a schema cannot, record after record, and at the end of the list. */
  check?(record: InferOutput<S>, known: RecordIndex): void
  checkEnd?(known: RecordIndex): void
  /** Makes rows of a record; without it records are there for people to read. */
  write?(tx: Transaction, record: InferOutput<S>, made: Made): Promise<void>
  /** Whether rows are made at the end of an import only, in the step that shows all of it: they belong to no project that could hide them. */
  isShownAtOnce?: boolean
  /** What is left to do when all records are written, in steps that are short enough for one transaction each. */
  finish?(made: Made): Iterable<(tx: Transaction) => Promise<void>>
}

/** Ties a part's functions to its schema. */
export const part = <S extends GenericSchema>(part: Part<S>): Part => part as unknown as Part

/** Goes through a project's rows page by page. */
export async function* pages<R extends { id: number }>(read: (after: number) => Promise<R[]>): AsyncGenerator<R[]> {
  for (let after = 0; ;) {
    const rows = await read(after)
    if (rows.length === 0) return
    yield rows
    after = rows.at(-1)!.id
  }
}

/** Appends the event of a row in an existing project. A new project has one event as a whole. */
export const tell = (made: Made, news: (tx: Transaction) => Promise<void>): void => {
  if (made.intoExisting) made.news.push(news)
}
