import type { CommitSignals } from './commitSignals.ts'
import { Problem } from '../contract/errors.ts'

/** What a parameter may be. Booleans become 0 and 1, undefined becomes NULL. */
export type Value = string | number | boolean | null | undefined

/**
 * Says of a query that a database server may answer it for all who ask it at a time in one statement, which takes a fraction of one
 * for each: it prepares every statement anew. The query has at most one row, whose one column is text, called `value`; its
 * parameters are `?1`, `?2` and so on, and all who ask for the same give the same for the first `shared` ones.
 */
export interface Gathered {
  shared: number
}

export interface Reader {
  /**
   * The machine whose folders this daemon sees; null where the database is a file of the only machine. Work is limited
   * to projects of that machine.
   */
  readonly host: string | null
  /** The first row, or undefined. */
  get<T>(sql: string, args?: readonly Value[], gathered?: Gathered): Promise<T | undefined>
  all<T>(sql: string, args?: readonly Value[]): Promise<T[]>
}

/** Who makes a change: an account, an API key, an agent's session, a schedule, or the board by itself. */
export interface Actor {
  kind: 'user' | 'key' | 'agent' | 'schedule' | 'system'
  /** The id of the account, key, session or schedule; null where there is none. */
  id: number | null
  name: string
}
/** The board, which goes on with what somebody began. */
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
  /** Who makes its changes. */
  readonly actor: Actor
  run(sql: string, args?: readonly Value[]): Promise<{ changes: number; lastId: number }>
  /**
   * Runs a statement without a result before the next one and before the commit. Its failure rolls the transaction
   * back, and is thrown here, by a later statement, or by the commit.
   */
  enqueue(sql: string, args?: readonly Value[]): void
  /**
   * Names reads that will follow, as the functions that make them; only the first statement of each counts. On a
   * database server they go out in one message, and whoever asks before something is written has the answer at once;
   * those of a job that shares a commit go along with what the job before it writes, which has begun by then.
   * A file is read when somebody asks.
   */
  ahead(reads: (reader: Reader) => unknown): void
  /** Runs `effect` once the transaction is on disk, and never if it fails. */
  afterCommit(effect: () => void): void
  /** The database's signals, to emit on after the commit. */
  readonly signals: CommitSignals
}

export interface Database extends Reader {
  /** Whether other daemons write to it, too. */
  readonly isShared: boolean
  /** Emits what this board's own transactions have committed. */
  readonly signals: CommitSignals
  /**
   * A number that is another one after each commit of anybody but this database's own batches; undefined where nobody
   * can tell. A database server is asked, in one message for all who ask at once.
   * @throws Problem DATABASE_BUSY
   */
  version(): number | Promise<number | undefined>
  /**
   * Runs `work` exclusively and commits it, synced to disk, before the promise resolves. Rolled back when `work`
   * throws. `actor` makes its changes, by default the board itself.
   * @throws Problem DATABASE_BUSY, DATABASE_DAMAGED, DISK_FULL, SHUTTING_DOWN
   */
  transaction<T>(work: (tx: Transaction) => Promise<T>, actor?: Actor): Promise<T>
  /**
   * Runs statements in a commit of their own, in one message: a client that stalls afterwards blocks no writer. It
   * changes no `version`: for heartbeats, which nobody reads through a cache.
   * @returns the rows of each
   * @throws as `transaction` does
   */
  batch(statements: readonly Written[]): Promise<Array<Array<Record<string, unknown>>>>
  /**
   * Gives `work` a reader of one snapshot, while others write. The log grows until `work` ends, so it must not wait
   * for clients.
   */
  snapshot<T>(work: (reader: Reader) => Promise<T>): Promise<T>
  /** Makes every later write fail, because the file was found corrupt. */
  markCorrupt(cause: unknown): void
  close(): Promise<void>
}

/** A database in a file. */
export interface EmbeddedDatabase extends Database {
  /** Moves what the log holds into the file. To be called while nothing else uses the database: it blocks the process. */
  checkpoint(): void
}

/**
 * A file. `onDamage` is called once, when corruption is found, and may return a message with more detail for refused
 * writes.
 */
export interface EmbeddedOptions {
  path: string
  clock: () => Date
  onDamage?: (problem: Problem) => Promise<Problem>
}
/** A libSQL server's address, `ws:`, `wss:`, `http:`, `https:` or `libsql:`, and its token. */
export interface RemoteOptions {
  url: string
  token?: string
  host: string
  clock: () => Date
}

/** A row with the same unique value exists already. */
export class UniqueViolation extends Error {}
/** A row refers to one that does not exist (any more). */
export class ForeignKeyViolation extends Error {}

/** Translates an engine's error into the board's own. */
export function translate(error: unknown): unknown {
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
  // A write refused by a quota or a limit of the process has these codes; a full disk is SQLITE_FULL.
  if (code === 'SQLITE_FULL' || code === 'SQLITE_IOERR_WRITE' || code === 'SQLITE_IOERR_SHMSIZE')
    return new Problem('DISK_FULL', undefined, { cause: error, retryAfterSecs: 30 })
  if (code !== undefined && unreachable.test(code))
    return new Problem('DATABASE_BUSY', 'The database server is out of reach; try again.', { cause: error })
  return error
}

/** What the client of a libSQL server throws for a connection or transaction that has ended. */
const unreachable =
  /^(HRANA_|TRANSACTION_|STREAM_|CLIENT_CLOSED|SERVER_ERROR|ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|UND_ERR_)/
