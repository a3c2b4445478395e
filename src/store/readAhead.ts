import type { Reader, Value } from './database.ts'
import type { Rows, Statement } from './hrana.ts'

/** Runs a transaction's statements, and knows the answers of reads that were sent ahead of whoever asks for them. */
export interface ReadAhead {
  run(statement: Statement): Promise<Rows>
  /** See `Transaction.ahead`. */
  ahead(reads: (reader: Reader) => unknown): void
  /** Forgets what was read: something is written. */
  forget(): void
  /** Asks anew for all that was named. */
  again(): void
}

/**
 * A statement of a transaction on a distant server waits for a message and its answer. Those that a function asks one after the other,
 * each a sentence of the rules, go out together if they are named first: a move in its column takes two messages instead of six. The rules
 * stay as they are, for they ask as ever; an answer counts until the transaction writes anything at all.
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
      /* Whoever asks is told. */
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

/** Nothing follows from a read that is only named. */
const unanswered = new Promise<never>(() => {
  /* It waits for nobody. */
})

const keyOf = ({ sql, args }: Statement) => [sql, ...args.map(arg => `${typeof arg} ${String(arg)}`)].join('\n')
