import { createCommitSignals } from '../../src/store/forges/commitSignals.ts'
import { systemActor, type Reader, type Transaction, type Value } from '../../src/store/engine/database.ts'

export type Bound = string | number | null
/** A statement of the store, with a function that derives its parameters from a request. */
export interface Statement {
  sql: string
  bind(said: Record<string, Bound>): Bound[]
}

/** A placeholder for a value of a request, in a captured statement of the store. */
export const placeholder = (name: string): string => `\u0001${name}`

/**
 * Captures the first statement that a function of the store would run, without running it.
 * Placeholders among its parameters are replaced by `bind`; numbers can also be placeholders, with a type assertion.
 */
export async function statementOf(call: (db: Transaction) => Promise<unknown>): Promise<Statement> {
  let first: { sql: string; args: readonly Value[] } | undefined
  const note =
    <T>(answer: T) =>
    async (sql: string, args: readonly Value[] = []) => {
      first ??= { sql, args }
      return answer
    }
  const reader: Reader = { host: null, get: note({}) as Reader['get'], all: note([]) as Reader['all'] }
  await call({
    ...reader,
    run: note({ changes: 1, lastId: 1 }),
    enqueue: (sql, args) => {
      void note(undefined)(sql, args)
    },
    now: new Date().toISOString(),
    actor: systemActor,
    signals: createCommitSignals(),
    afterCommit: () => {},
  })
  if (!first) throw new Error('The function of the store ran no statement.')
  const args = first.args.map(plain)
  return {
    sql: first.sql,
    bind: said => args.map(arg => (typeof arg === 'string' && arg.startsWith('\u0001') ? said[arg.slice(1)]! : arg)),
  }
}

const plain = (arg: Value): Bound => (typeof arg === 'boolean' ? Number(arg) : (arg ?? null))
