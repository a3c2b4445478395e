import type { CommitSignals } from './commitSignals.ts'
import { Problem } from '../contract/errors.ts'

/** What a parameter may be. Booleans become 0 and 1, undefined becomes NULL. */
export type Value = string | number | boolean | null | undefined

export interface Reader {
  /** The machine whose folders this daemon sees; null where the database is a file of the only machine. Work is for projects of that machine. */
  readonly host: string | null
  /** The first row, or undefined. */
  get<T>(sql: string, args?: readonly Value[]): Promise<T | undefined>
  all<T>(sql: string, args?: readonly Value[]): Promise<T[]>
}

/** A statement with its parameters. */
export interface Written {
  sql: string
  args?: readonly Value[]
}

/** One open write transaction. Nothing but the database may be awaited inside it: every other writer waits. */
export interface Transaction extends Reader {
  /** The transaction's time, ISO 8601. */
  readonly now: string
  run(sql: string, args?: readonly Value[]): Promise<{ changes: number; lastId: number }>
  /**
   * Runs a statement whose result nobody waits for, before the next one and before the commit. What it fails with undoes the
   * transaction, and is thrown here, by a later statement, or by the commit.
   */
  enqueue(sql: string, args?: readonly Value[]): void
  /** Runs `effect` once the transaction is on disk, and never if it fails. */
  afterCommit(effect: () => void): void
  /** Those of the database, to emit on after the commit. */
  readonly signals: CommitSignals
}

export interface Database extends Reader {
  /** Whether other daemons write to it, too. */
  readonly isShared: boolean
  /** Tells the parts of this board what its own transactions have committed. */
  readonly signals: CommitSignals
  /** How often something may have been committed since it was opened; undefined where it is shared, because nobody tells of the others' commits. */
  commits(): number | undefined
  /**
   * Runs `work` alone and commits it, synced to disk, before the promise resolves. What `work` throws undoes it.
   * @throws Problem DATABASE_BUSY, DATABASE_DAMAGED, DISK_FULL, SHUTTING_DOWN
   */
  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T>
  /**
   * Runs statements in a commit of their own, and gives the rows of each. They travel in one message: whoever stands still
   * afterwards keeps nobody from writing.
   * @throws as `transaction` does
   */
  batch(statements: readonly Written[]): Promise<Array<Array<Record<string, unknown>>>>
  /**
   * Gives `work` a reader that sees one state of the database however long it takes, while others go on writing. What is
   * written meanwhile stays in the log of the database until then, so `work` waits for nobody outside.
   */
  snapshot<T>(work: (reader: Reader) => Promise<T>): Promise<T>
  /** Has every write from now on be refused, because the file was found damaged. */
  markCorrupt(cause: unknown): void
  close(): Promise<void>
}

/** A file. `onDamage` is called once, when it turns out to be damaged, and may say more of it: that is what writes are refused with. */
export interface EmbeddedOptions {
  path: string
  clock: () => Date
  onDamage?: (problem: Problem) => Promise<Problem>
}
/** A libSQL server's address, `ws:`, `wss:`, `http:`, `https:` or `libsql:`, and the token that it wants. */
export interface RemoteOptions {
  url: string
  token?: string
  host: string
  clock: () => Date
}

/** A row with the same unique value exists already. */
export class UniqueViolation extends Error {}
/** A row names another one that is not there (any more). */
export class ForeignKeyViolation extends Error {}

/** Turns an engine's failure into the board's own, once for all callers. */
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
  // A write that a quota or a limit of the process refuses is told like this; a disk that is full by itself is SQLITE_FULL.
  if (code === 'SQLITE_FULL' || code === 'SQLITE_IOERR_WRITE' || code === 'SQLITE_IOERR_SHMSIZE')
    return new Problem('DISK_FULL', undefined, { cause: error, retryAfterSecs: 30 })
  if (code !== undefined && outOfReach.test(code))
    return new Problem('DATABASE_BUSY', 'The database server is out of reach; try again.', { cause: error })
  return error
}

/** How the client of a libSQL server tells of a connection or transaction that has ended. */
const outOfReach =
  /^(HRANA_|TRANSACTION_|STREAM_|CLIENT_CLOSED|SERVER_ERROR|ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|UND_ERR_)/
