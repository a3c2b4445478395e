import type { Clock } from '../../async/clock.ts'
import type { CommitSignals } from '../forges/commitSignals.ts'
import { Problem } from '../../contract/errors.ts'

/** The value of a parameter. Booleans become 0 and 1, undefined becomes NULL. */
export type Value = string | number | boolean | null | undefined

export interface Reader {
  /**
   * The machine whose folders this daemon sees. Null if the database is a file of the only machine. Work is limited to projects
   * of that machine.
   */
  readonly host: string | null
  /** The first row, or undefined. */
  get<T>(sql: string, args?: readonly Value[]): Promise<T | undefined>
  all<T>(sql: string, args?: readonly Value[]): Promise<T[]>
}

/** The author of a change: an account, an API key, an agent's session, a schedule, or the board itself. */
export interface Actor {
  kind: 'user' | 'key' | 'agent' | 'schedule' | 'system'
  /** The ID of the account, key, session or schedule. Null if there is none. */
  id: number | null
  name: string
}
/** The board, which continues an action that a user started. */
export const systemActor: Actor = { kind: 'system', id: null, name: 'Board' }

/** A statement with its parameters. */
export interface Written {
  sql: string
  args?: readonly Value[]
}

/** One open write transaction. Await nothing but the database inside it: it blocks every other writer. */
export interface Transaction extends Reader {
  /** The transaction's time, ISO 8601. */
  readonly now: string
  /** The author of the transaction's changes. */
  readonly actor: Actor
  run(sql: string, args?: readonly Value[]): Promise<{ changes: number; lastId: number }>
  /**
   * Runs a statement without a result before the next one and before the commit. A failure rolls the transaction back, and is
   * thrown here, by a later statement, or by the commit.
   */
  enqueue(sql: string, args?: readonly Value[]): void
  /** Runs `effect` once the transaction is on disk. Never runs it if the transaction fails. */
  afterCommit(effect: () => void): void
  /** The database's signals, to emit on after the commit. */
  readonly signals: CommitSignals
}

export interface Database extends Reader {
  /** Whether other daemons also write to the database. */
  readonly isShared: boolean
  /** Emits what this board's own transactions have committed. */
  readonly signals: CommitSignals
  /**
   * A number that changes with each commit of any client, except for this database's own batches. Undefined if the version is not
   * available. For a database server, one message serves all concurrent callers.
   * @throws Problem DATABASE_BUSY
   */
  version(): number | Promise<number | undefined>
  /**
   * Runs `work` exclusively and commits it, synced to disk, before the promise resolves. Rolls back if `work` throws. `actor` is
   * the author of its changes, by default the board itself.
   * @throws Problem DATABASE_BUSY, DATABASE_DAMAGED, DISK_FULL, SHUTTING_DOWN
   */
  transaction<T>(work: (tx: Transaction) => Promise<T>, actor?: Actor): Promise<T>
  /**
   * Runs statements in a separate commit, in one message, so that a client that stalls afterwards blocks no writer. Does not
   * change `version`: for heartbeats, which are never read through a cache.
   * @returns the rows of each statement
   * @throws the errors of `transaction`
   */
  batch(statements: readonly Written[]): Promise<Array<Array<Record<string, unknown>>>>
  /**
   * Calls `work` with a reader of one snapshot, while others write. The log grows until `work` ends, so `work` must not wait for
   * clients.
   */
  snapshot<T>(work: (reader: Reader) => Promise<T>): Promise<T>
  /** Rejects every later write, because the file was found corrupt. */
  markCorrupt(cause: unknown): void
  close(): Promise<void>
}

/** A database in a file. */
export interface EmbeddedDatabase extends Database {
  /**
   * Moves the content of the log into the file. Call this only while nothing else uses the database, because it blocks the
   * process.
   */
  checkpoint(): void
}

/** A file. `onDamage` is called once, when corruption is found, and can return a message with more detail for refused writes. */
export interface EmbeddedOptions {
  path: string
  clock: Clock
  onDamage?: (problem: Problem) => Promise<Problem>
}
/** A libSQL server's address, `ws:`, `wss:`, `http:`, `https:` or `libsql:`, and its token. */
export interface RemoteOptions {
  url: string
  token?: string
  host: string
  clock: Clock
}

/** A row with the same unique value already exists. */
export class UniqueViolation extends Error {}
/** A row references a row that does not exist or was deleted. */
export class ForeignKeyViolation extends Error {}

/** Translates an engine's error into the board's own. */
export function translateError(error: unknown): unknown {
  const {
    code: engineCode,
    extendedCode,
    message,
  } = error as { code?: string; extendedCode?: string; message?: string }
  const code = extendedCode ?? engineCode
  if (
    code === 'SQLITE_CONSTRAINT_UNIQUE' ||
    code === 'SQLITE_CONSTRAINT_PRIMARYKEY' ||
    (code === 'SQLITE_CONSTRAINT' && message?.includes('UNIQUE constraint failed'))
  )
    return new UniqueViolation(message)
  if (
    code === 'SQLITE_CONSTRAINT_FOREIGNKEY' ||
    (code === 'SQLITE_CONSTRAINT' && message?.includes('FOREIGN KEY constraint failed'))
  )
    return new ForeignKeyViolation(message, { cause: error })
  if (code?.startsWith('SQLITE_BUSY') || code?.startsWith('SQLITE_LOCKED'))
    return new Problem('DATABASE_BUSY', undefined, { cause: error })
  if (code === 'SQLITE_NOTADB' || code?.startsWith('SQLITE_CORRUPT'))
    return new Problem('DATABASE_DAMAGED', undefined, { cause: error, retryAfterSecs: 300 })
  // A write that a quota or a limit of the process refuses has these codes. A full disk is SQLITE_FULL.
  if (code === 'SQLITE_FULL' || code === 'SQLITE_IOERR_WRITE' || code === 'SQLITE_IOERR_SHMSIZE')
    return new Problem('DISK_FULL', undefined, { cause: error, retryAfterSecs: 30 })
  if (code !== undefined && unreachable.test(code))
    return new Problem('DATABASE_BUSY', 'The database server cannot be reached. Try again.', { cause: error })
  return error
}

/** The errors of a libSQL client for a connection or transaction that has ended. */
const unreachable =
  /^(HRANA_|TRANSACTION_|STREAM_|CLIENT_CLOSED|SERVER_ERROR|ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|UND_ERR_)/
