import type { GenericSchema, InferOutput } from 'valibot'
import type { ColumnType } from '../contract/fields.ts'
import type { Repository } from '../contract/forges/repositories.ts'
import type { SavedFile } from '../store/cards/attachments.ts'
import type { Reader, Transaction } from '../store/engine/database.ts'
import type { RecordIndex } from './recordIndex.ts'

/** The scope of an export: the projects with the IDs of their cards, and the organization if it is exported. */
export interface Scope {
  organizationId: number | null
  /** The exporting account, because templates belong to an owner. */
  exporterId: number
  projects: ReadonlyArray<{ id: number; cardIds: readonly number[] }>
}

/** The progress of an import. Maps the file's IDs to the created rows. */
export interface Made {
  ownerId: number
  /** The daemon that imports. */
  importer: string
  /** The folders of projects, by the file's ids. */
  paths: ReadonlyMap<number, string>
  /** The projects' other repositories that exist here. */
  repositories: ReadonlyMap<number, readonly Repository[]>
  /** Whether the project existed before the import. */
  intoExisting: boolean
  /** The time of the export. Work that was running then counts as ended. */
  exportedAt: string
  rows: { [Name in keyof MadeRows]: Map<number, MadeRows[Name]> }
  /** New projects that are on disk. */
  hidden: number[]
  /** The cards of each column, by its row, in order. */
  order: Map<number, number[]>
  /** The target columns of cards after their pull requests, by the column's row and the file's IDs. */
  afterRequests: Map<number, { mergedColumnId: number | null; closedColumnId: number | null }>
  /** Files of attachments on disk. */
  files: Map<number, SavedFile>
  /** The existing templates, once they have been looked up. */
  templates: Set<string> | undefined
  /** Events about new records in an existing project. */
  announcements: Array<(tx: Transaction) => Promise<void>>
}
interface MadeRows {
  projects: { id: number; firstBoard: number }
  boards: { id: number; projectId: number }
  columns: { id: number; boardId: number; projectId: number; columnType: ColumnType }
  cards: { id: number; projectId: number }
  attachments: { id: number }
  sessions: { id: number; cardId: number; isSide: boolean }
}

/**
 * A part of a board's file: a named list of records, with their schema, their query, the rules between them, and the function
 * that creates rows from them.
 */
export interface Part<S extends GenericSchema = GenericSchema> {
  name: string
  schema: S
  /** The maximum number of records in a file. */
  maxRecords: number
  /** Pages of records as JSON texts. An export writes a part without this function after all others. */
  read?(db: Reader, scope: Scope): AsyncIterable<readonly string[]>
  /** Checks the rules that a schema cannot express, for each record and at the end of the list. */
  check?(record: InferOutput<S>, known: RecordIndex): void
  checkEnd?(known: RecordIndex): void
  /** Creates rows from a record. A part without this function is for information only and is not imported. */
  write?(tx: Transaction, record: InferOutput<S>, made: Made): Promise<void>
  /**
   * Whether rows are created only at the end of an import, in the step that shows it, because they belong to no project that
   * could hide them.
   */
  isShownAtOnce?: boolean
  /** The remaining steps when all records are written, each short enough for one transaction. */
  finish?(made: Made): Iterable<(tx: Transaction) => Promise<void>>
}

/** Connects a part's functions to its schema. */
export const part = <S extends GenericSchema>(part: Part<S>): Part => part as unknown as Part

/** Iterates over a project's rows page by page. */
export async function* pages<R extends { id: number }>(read: (after: number) => Promise<R[]>): AsyncGenerator<R[]> {
  for (let after = 0; ;) {
    const rows = await read(after)
    if (rows.length === 0) return
    yield rows
    after = rows.at(-1)!.id
  }
}

/** Reads the records of cards, with a query for each `maxCards` of them. */
export const readByCards = (
  maxCards: number,
  read: (db: Reader, cardIds: readonly number[]) => Promise<Array<{ json: string }>>,
): Part['read'] =>
  async function* (db, scope) {
    for (const { cardIds } of scope.projects)
      for (let from = 0; from < cardIds.length; from += maxCards)
        yield (await read(db, cardIds.slice(from, from + maxCards))).map(({ json }) => json)
  }

/** Reads the records of projects, with a query for each project. */
export const readByProject = (
  read: (db: Reader, projectId: number) => Promise<Array<{ json: string }>>,
): Part['read'] =>
  async function* (db, scope) {
    for (const { id } of scope.projects) yield (await read(db, id)).map(({ json }) => json)
  }

/** Appends the event of a row in an existing project. A new project has one event as a whole. */
export const announceLater = (made: Made, news: (tx: Transaction) => Promise<void>): void => {
  if (made.intoExisting) made.announcements.push(news)
}
