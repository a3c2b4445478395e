import { Problem } from '../../../contract/errors.ts'

/** Whole numbers are sent as integers. */
export interface Statement {
  sql: string
  args: Array<string | number | null>
}

/** The result of a statement. */
export interface Rows {
  columns: readonly string[]
  rows: ReadonlyArray<ArrayLike<unknown>>
  changes: number
  lastId: number
}

/** A statement of a batch. It runs only if the earlier statement `needs` succeeded. With `inside`, it runs only within a transaction. */
export interface Step {
  statement: Statement
  needs?: number
  inside: boolean
}
export type StepResult = { rows: Rows } | { error: unknown } | { isLeftOut: true }

/** A server connection to the database. If the stream closes with an open transaction, the transaction is rolled back. */
export interface Stream {
  /**
   * Runs statements in order in one message. A failure skips only the statements that need the failed one.
   * @throws ServerError for a batch that the server refuses as a whole; another error if the server does not answer
   */
  batch(steps: readonly Step[]): Promise<StepResult[]>
  readonly closed: boolean
  close(): void
}
/** A connection to a libSQL server. If the connection fails, its pending requests fail. */
export interface Connection {
  openStream(): Stream
  readonly closed: boolean
  close(): void
}

/** The server's error about a failed statement or another request. */
export class ServerError extends Error {
  readonly code: string | undefined
  constructor(message: string, code: string | undefined) {
    super(message)
    this.code = code
  }
}

/**
 * Runs one statement.
 * @throws ServerError if the database refuses the statement, Problem DATABASE_BUSY
 */
export async function runStatement(stream: Stream, statement: Statement): Promise<Rows> {
  const [result] = await runBatch(stream, [{ statement, inside: false }])
  if (result && 'rows' in result) return result.rows
  throw result && 'error' in result ? result.error : new Error('A statement was skipped.')
}

/**
 * Runs statements in order in one round trip. A failure skips only the statements that need the failed one.
 * @throws Problem DATABASE_BUSY if the server did not answer the batch as a whole
 */
export async function runBatch(stream: Stream, steps: readonly Step[]): Promise<StepResult[]> {
  try {
    return await stream.batch(steps)
  } catch (error) {
    throw error instanceof ServerError || error instanceof Problem
      ? error
      : new Problem('DATABASE_BUSY', 'The database server cannot be reached. Try again.', { cause: error })
  }
}
