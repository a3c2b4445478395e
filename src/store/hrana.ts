import { Problem } from '../contract/errors.ts'
import type { Gathered } from './database.ts'

/** Whole numbers are sent as integers. */
export interface Statement {
  sql: string
  args: Array<string | number | null>
  gathered?: Gathered
}

/** The result of a statement. */
export interface Rows {
  columns: readonly string[]
  rows: ReadonlyArray<ArrayLike<unknown>>
  changes: number
  lastId: number
}

/**
 * A statement of a batch. It runs only if the earlier statement `needs` succeeded; with `inside`, only within a
 * transaction.
 */
export interface Step {
  statement: Statement
  needs?: number
  inside: boolean
}
export type StepResult = { rows: Rows } | { error: unknown } | { isLeftOut: true }

/** A server's connection to the database. What is open on it when it closes is rolled back. */
export interface Stream {
  /**
   * Runs statements in order in one message. A failure skips only the statements that need the failed one.
   * @throws ServerError for a batch that the server refuses as a whole, and another error when it does not answer
   */
  batch(steps: readonly Step[]): Promise<StepResult[]>
  readonly closed: boolean
  close(): void
}
/** A connection to a libSQL server; a failed one fails what is asked on it. */
export interface Connection {
  openStream(): Stream
  readonly closed: boolean
  close(): void
}

/** What a server has said of a statement that failed, or of anything else. */
export class ServerError extends Error {
  readonly code: string | undefined
  constructor(message: string, code: string | undefined) {
    super(message)
    this.code = code
  }
}

/**
 * Runs one statement.
 * @throws ServerError for what the database refuses, Problem DATABASE_BUSY
 */
export async function runStatement(stream: Stream, statement: Statement): Promise<Rows> {
  const [result] = await runBatch(stream, [{ statement, inside: false }])
  if (result && 'rows' in result) return result.rows
  throw result && 'error' in result ? result.error : new Error('A statement was left out.')
}

/**
 * Runs statements in order in one round trip. A failure skips only the statements that need the failed one.
 * @throws Problem DATABASE_BUSY when the batch as a whole was not answered
 */
export async function runBatch(stream: Stream, steps: readonly Step[]): Promise<StepResult[]> {
  try {
    return await stream.batch(steps)
  } catch (error) {
    throw error instanceof ServerError || error instanceof Problem
      ? error
      : new Problem('DATABASE_BUSY', 'The database server is out of reach; try again.', { cause: error })
  }
}
