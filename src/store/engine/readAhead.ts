import type { Reader, Value } from './database.ts'
import type { Rows, Statement } from './remote/hrana.ts'

/** Runs a transaction's statements, and returns the results of reads that were sent ahead. */
export interface ReadAhead {
  run(statement: Statement): Promise<Rows>
  /** See `Transaction.ahead`. */
  ahead(reads: (reader: Reader) => unknown): void
  /** Discards the results, because something is written. */
  forget(): void
  /** Sends all announced reads again. */
  again(): void
}

/**
 * A statement of a transaction on a distant server waits for a round trip. Statements that a function runs one after the other
 * are sent together if they are announced first: a move in a column takes two messages instead of six. The function still runs
 * each read where it needs it, and a result is valid until the transaction writes anything.
 */
export function createReadAhead(
  host: string,
  run: (statement: Statement) => Promise<Rows>,
  bind: (args: readonly Value[]) => Statement['args'],
): ReadAhead {
  const answers = new Map<string, Promise<Rows>>()
  const note = (sql: string, args: readonly Value[] = []) => {
    const statement = { sql, args: bind(args) }
    const answer = run(statement)
    answer.catch(() => {
      /* The error is thrown to the reader. */
    })
    answers.set(keyOf(statement), answer)
    return unanswered
  }
  const reader: Reader = { host, get: note, all: note }
  const named: Array<(reader: Reader) => unknown> = []
  return {
    run: statement => {
      const known = answers.size > 0 ? answers.get(keyOf(statement)) : undefined
      if (known) return known
      if (!statement.sql.startsWith('SELECT ')) answers.clear()
      return run(statement)
    },
    ahead: reads => {
      named.push(reads)
      reads(reader)
    },
    forget: () => answers.clear(),
    again: () => {
      answers.clear()
      for (const reads of named) reads(reader)
    },
  }
}

/** A read that is only announced has no effect. */
const unanswered = new Promise<never>(() => {
  /* Nothing waits for this promise. */
})

const keyOf = ({ sql, args }: Statement) => [sql, ...args.map(arg => `${typeof arg} ${String(arg)}`)].join('\n')
