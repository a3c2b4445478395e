import LibsqlDatabase from 'libsql'
import { chmodSync, existsSync, renameSync, rmSync } from 'node:fs'

/** A stored entry. `level` is 0 for info, 1 for warn, 2 for error; `fields` is JSON text; `words` is also searched. */
export interface LogRow {
  id: number
  at: string
  level: number
  source: string
  requestId: string | null
  message: string
  fields: string
}
interface NewLogRow extends Omit<LogRow, 'id'> {
  words: string
}
/** `search` is an FTS5 expression. With `after`, the oldest entries come first, otherwise the newest. */
export interface LogFilter {
  level: number
  search?: string
  since?: string
  after?: number
  before?: number
  limit: number
}

/** The log's own database: one connection, separate from the connections of the board. Close it if a method throws. */
export interface LogDatabase {
  /** Adds entries in one transaction, with increasing ids. */
  insert(rows: readonly NewLogRow[]): void
  list(filter: LogFilter): LogRow[]
  /**
   * Deletes up to `maxPruned` of the oldest entries: those before a time, and those beyond `maxRows`.
   * @returns the number of deleted entries
   */
  prune(limits: { before: string; maxRows: number; maxPruned: number }): number
  /** The number of bytes in use in the file. */
  usedBytes(): number
  close(): void
}

const pageBytes = 4096
const schemaVersion = 1
const schema = [
  'CREATE TABLE entries (id INTEGER PRIMARY KEY, at TEXT NOT NULL, level INTEGER NOT NULL, source TEXT NOT NULL, request_id TEXT, message TEXT NOT NULL, fields TEXT NOT NULL)',
  'CREATE INDEX entries_by_time ON entries (at)',
  'CREATE INDEX entries_warn ON entries (id) WHERE level >= 1',
  'CREATE INDEX entries_error ON entries (id) WHERE level >= 2',
  "CREATE VIRTUAL TABLE entries_text USING fts5(words, content = '', contentless_delete = 1)",
  `PRAGMA user_version = ${schemaVersion}`,
]

/**
 * Opens or creates the log's database. Sets aside a corrupt file, or one of another version, and replaces the file that was set
 * aside before. IDs in a new file are above all earlier ones.
 * @param maxBytes the maximum size of the file
 * @throws the engine's or the file system's error if no database can be created there
 */
export function openLogDatabase(path: string, maxBytes: number, onSetAside: (reason: string) => void): LogDatabase {
  try {
    return open(path, maxBytes)
  } catch (error) {
    if (!isDamaged(error)) throw error
    setAsideLog(path)
    onSetAside((error as Error).message)
    return open(path, maxBytes)
  }
}

/** Whether an error means that the file itself is corrupt. */
export const isDamaged = (error: unknown): boolean => {
  const { code, message } = error as { code?: string; message?: string }
  return (
    /^SQLITE_(CORRUPT|NOTADB)/.test(code ?? '') ||
    /malformed|not a database|no such table|vtable constructor failed|another version/.test(message ?? '')
  )
}

function open(path: string, maxBytes: number): LogDatabase {
  const database = new LibsqlDatabase(path)
  try {
    chmodSync(path, 0o600)
    for (const pragma of [
      'journal_mode = WAL',
      'synchronous = NORMAL',
      'temp_store = MEMORY',
      'cache_size = -4000',
      'journal_size_limit = 4194304',
      `max_page_count = ${Math.floor(maxBytes / pageBytes)}`,
    ])
      database.exec(`PRAGMA ${pragma}`)
    const isNew = makeSchema(database)
    return connect(database, isNew && existsSync(damagedPath(path)) ? Date.now() : 1)
  } catch (error) {
    database.close()
    throw error
  }
}

/** @returns whether the schema was missing */
function makeSchema(database: LibsqlDatabase.Database): boolean {
  const { user_version: present } = database.prepare('PRAGMA user_version').get() as { user_version: number }
  if (present === schemaVersion) return false
  if (present !== 0) throw new Error('The log was created by another version.')
  database.exec('BEGIN IMMEDIATE')
  for (const statement of schema) database.exec(statement)
  database.exec('COMMIT')
  return true
}

function connect(database: LibsqlDatabase.Database, firstId: number): LogDatabase {
  const number = (sql: string) => Number(Object.values(database.prepare(sql).get() as object)[0] ?? 0)
  let nextId = Math.max(firstId, number('SELECT max(id) FROM entries') + 1)
  const insertEntry = database.prepare(
    'INSERT INTO entries (id, at, level, source, request_id, message, fields) VALUES (?, ?, ?, ?, ?, ?, ?)',
  )
  const insertWords = database.prepare('INSERT INTO entries_text (rowid, words) VALUES (?, ?)')
  const inTransaction = (work: () => void) => {
    database.exec('BEGIN IMMEDIATE')
    work()
    database.exec('COMMIT')
  }
  return {
    insert: rows =>
      inTransaction(() => {
        for (const { at, level, source, requestId, message, fields, words } of rows) {
          insertEntry.run([nextId, at, level, source, requestId, message, fields])
          insertWords.run([nextId++, words])
        }
      }),
    list: filter => {
      const { sql, args } = select(filter)
      return database.prepare(sql).all(args) as LogRow[]
    },
    prune: ({ before, maxRows, maxPruned }) => {
      const last = number('SELECT max(id) FROM entries')
      const { id: through } = database
        .prepare(
          `SELECT max(id) AS id FROM (SELECT id FROM entries WHERE id < ? AND (at < ? OR id <= (SELECT id FROM entries ORDER BY id DESC LIMIT 1 OFFSET ?)) ORDER BY id LIMIT ?)`,
        )
        .get([last, before, maxRows, maxPruned]) as { id: number | null }
      if (through === null) return 0
      let deleted = 0
      inTransaction(() => {
        database.prepare('DELETE FROM entries_text WHERE rowid <= ?').run([through])
        deleted = database.prepare('DELETE FROM entries WHERE id <= ?').run([through]).changes
      })
      return deleted
    },
    usedBytes: () => (number('PRAGMA page_count') - number('PRAGMA freelist_count')) * pageBytes,
    close: () => {
      database.close()
    },
  }
}

/** The level is a literal, so that the partial index of its entries is used. */
function select({ level, search, since, after, before, limit }: LogFilter): {
  sql: string
  args: Array<string | number>
} {
  const fields = 'e.id, e.at, e.level, e.source, e.request_id AS requestId, e.message, e.fields'
  const id = search === undefined ? 'e.id' : 't.rowid'
  const wheres: Array<[string, ...Array<string | number>]> = [
    ...(search === undefined ? [] : [['t.words MATCH ?', search] as [string, string]]),
    ...(level > 0 ? [[`e.level >= ${Math.floor(level)}`] as [string]] : []),
    ...(since === undefined
      ? []
      : [
          [`${id} >= (SELECT min(id) FROM entries WHERE at >= ?)`, since] as [string, string],
          ['e.at >= ?', since] as [string, string],
        ]),
    ...(after === undefined ? [] : [[`${id} > ?`, after] as [string, number]]),
    ...(before === undefined ? [] : [[`${id} < ?`, before] as [string, number]]),
  ]
  const table = search === undefined ? 'entries e' : 'entries_text t JOIN entries e ON e.id = t.rowid'
  const where = wheres.length > 0 ? `WHERE ${wheres.map(([text]) => text).join(' AND ')}` : ''
  return {
    sql: `SELECT ${fields} FROM ${table} ${where} ORDER BY ${id} ${after === undefined ? 'DESC' : 'ASC'} LIMIT ?`,
    args: [...wheres.flatMap(([, ...values]) => values), limit],
  }
}

/** Sets a corrupt log aside, replacing the one set aside before. */
export function setAsideLog(path: string): void {
  for (const ending of ['-wal', '-shm']) rmSync(path + ending, { force: true })
  renameSync(path, damagedPath(path))
}

const damagedPath = (path: string) => `${path}.damaged`
