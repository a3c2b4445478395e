import { setTimeout as delay } from 'node:timers/promises'
import { Problem } from '../../../contract/errors.ts'
import { translateError } from '../database.ts'
import { runBatch, type Rows, type Statement, type Step, type StepResult, type Stream } from './hrana.ts'

/** A savepoint: a part of a transaction that can be rolled back separately. */
export interface Scope {
  /** Runs a statement. @throws its error, or that of an earlier enqueued statement */
  run(statement: Statement): Promise<Rows>
  /** Sends a statement with the next awaited one. A failure rolls the scope back. */
  enqueue(statement: Statement): void
  /** Ends the scope and keeps its changes. */
  keep(): void
  /** Ends the scope and rolls it back. */
  undo(reason: unknown): void
  /** Why the scope was or will be rolled back, once the transaction has ended. */
  readonly reason: { error: unknown } | undefined
}

/** A write transaction on a distant server. Statements are pipelined as long as no result is awaited. */
export interface RemoteTransaction {
  /** Starts the next scope; the previous one must have ended. */
  scope(): Scope
  /** Whether no part of the transaction can still be committed. */
  isBroken(): boolean
  /** How long the transaction has been open and has blocked other writers. */
  openForMs(): number
  /** @throws Problem, or the database's error for the commit. In this case, the board does not know of any committed scope */
  commit(): Promise<void>
}

interface QueuedStatement {
  statement: Statement
  state?: State
  waiting?: { resolve(rows: Rows): void; reject(error: unknown): void }
}
interface State {
  reason?: { error: unknown }
  isOver: boolean
}

/** Opens a transaction with its first awaited statement. */
export function openRemoteTransaction(stream: Stream): RemoteTransaction {
  const statements = openStatementQueue(stream)
  return {
    scope: () => openScope(statements),
    isBroken: () => statements.broken !== undefined,
    openForMs: statements.openForMs,
    commit: async () => {
      await statements.wait(controlStatement('COMMIT'))
    },
  }
}

function openScope(statements: StatementQueue): Scope {
  const state: State = { isOver: false }
  statements.enqueue(controlStatement(savepoint, state))
  return {
    run: async statement => {
      requireOpen(state)
      return statements.wait({ statement, state })
    },
    enqueue: statement => {
      requireOpen(state)
      statements.enqueue({ statement, state })
    },
    keep: () => {
      if (!state.reason) statements.enqueue(controlStatement('RELEASE job', state))
      state.isOver = true
    },
    undo: error => {
      if (state.reason) return
      state.reason = { error }
      const own = statements.withdraw(state)
      for (const { waiting } of own) waiting?.reject(error)
      // If its savepoint was not sent yet, nothing of the scope is on the server.
      if (!own.some(({ statement }) => statement.sql === savepoint)) rollback().forEach(statements.enqueue)
    },
    get reason() {
      return statements.broken ?? state.reason
    },
  }
}

/** Statements of a transaction. They are sent once one of them is awaited, one message at a time. */
interface StatementQueue {
  enqueue(entry: QueuedStatement): void
  wait(entry: Omit<QueuedStatement, 'waiting'>): Promise<Rows>
  /** Removes and returns the statements of a scope that have not been sent. */
  withdraw(state: State): QueuedStatement[]
  openForMs(): number
  readonly broken: { error: unknown } | undefined
}

function openStatementQueue(stream: Stream): StatementQueue {
  let queue: QueuedStatement[] = [controlStatement('BEGIN IMMEDIATE')]
  let isFlushing = false
  let broken: { error: unknown } | undefined
  let openSince: number | undefined
  const fail = (error: unknown, left: readonly QueuedStatement[]) => {
    broken = { error }
    for (const { waiting } of [...left, ...queue.splice(0)]) waiting?.reject(error)
  }
  const flush = async () => {
    isFlushing = true
    // Batches statements of the same tick.
    await Promise.resolve()
    while (!broken && queue.some(({ waiting }) => waiting)) {
      const sent = queue.splice(0)
      try {
        const ended = settleStatements(
          sent,
          await (openSince === undefined ? begin(stream, toSteps(sent, true)) : runBatch(stream, toSteps(sent, false))),
        )
        openSince ??= performance.now()
        if ('error' in ended) fail(ended.error, ended.left)
        else queue = [...ended.left, ...queue]
      } catch (error) {
        fail(translateError(error), sent)
      }
    }
    isFlushing = false
  }
  const enqueue = (entry: QueuedStatement) => {
    if (broken) return entry.waiting?.reject(broken.error)
    queue.push(entry)
    if (entry.waiting && !isFlushing) void flush()
  }
  return {
    enqueue,
    wait: entry =>
      new Promise((resolve, reject) => {
        enqueue({ ...entry, waiting: { resolve, reject } })
      }),
    withdraw: state => {
      const own = queue.filter(each => each.state === state)
      queue = queue.filter(each => each.state !== state)
      return own
    },
    openForMs: () => (openSince === undefined ? 0 : performance.now() - openSince),
    get broken() {
      return broken
    },
  }
}

/**
 * Runs a transaction in one message.
 * @throws Problem, or a statement's error. In this case, the board does not know of any committed change
 */
export async function runBatchTransaction(stream: Stream, statements: readonly Statement[]): Promise<Rows[]> {
  const all = ['BEGIN IMMEDIATE', ...statements, 'COMMIT'].map(each =>
    typeof each === 'string' ? { sql: each, args: [] } : each,
  )
  const steps = all.map((statement, at): Step => ({ statement, needs: at === 0 ? undefined : at - 1, inside: at > 0 }))
  const results = await begin(stream, [...steps, { statement: { sql: 'ROLLBACK', args: [] }, inside: true }])
  const rows = results.slice(0, all.length).map(result => {
    if ('error' in result) throw translateError(result.error)
    if (!('rows' in result)) throw new Problem('DATABASE_BUSY', 'The database server ended the transaction. Try again.')
    return result.rows
  })
  return rows.slice(1, -1)
}

/** A busy server refuses to start a transaction at once. Retries until the stream is closed. */
async function begin(stream: Stream, steps: readonly Step[]): Promise<StepResult[]> {
  for (; ; await delay(busyMs)) {
    const results = await runBatch(stream, steps)
    const [first] = results
    const problem = first && 'error' in first && translateError(first.error)
    if (!(problem instanceof Problem && problem.code === 'DATABASE_BUSY')) return results
  }
}

const busyMs = 20
const savepoint = 'SAVEPOINT job'
const controlStatement = (sql: string, state?: State): QueuedStatement => ({ statement: { sql, args: [] }, state })
const rollback = () => [controlStatement('ROLLBACK TO job'), controlStatement('RELEASE job')]

function requireOpen({ reason, isOver }: State): void {
  if (reason) throw reason.error
  if (isOver) throw new Error('The transaction has ended.')
}

/** A statement that no caller awaits guards every later one. An awaited statement can fail alone. */
function toSteps(sent: readonly QueuedStatement[], begins: boolean): Step[] {
  let needs: number | undefined
  return sent.map(({ statement, waiting }, at) => {
    const step: Step = { statement, needs, inside: !(begins && at === 0) }
    if (!waiting) needs = at
    return step
  })
}

/** Settles each statement. @returns the statements that are still to be sent, or the error that ended the transaction */
function settleStatements(
  sent: readonly QueuedStatement[],
  results: readonly StepResult[],
): { left: QueuedStatement[] } | { error: unknown; left: readonly QueuedStatement[] } {
  for (const [at, { state, waiting }] of sent.entries()) {
    const result = results[at]!
    if ('rows' in result) {
      waiting?.resolve(result.rows)
      continue
    }
    const later = sent.slice(at)
    if (!('error' in result))
      return {
        error: new Problem('DATABASE_BUSY', 'The database server ended the transaction. Try again.'),
        left: later,
      }
    const error = translateError(result.error)
    if (error instanceof Problem || !state) return { error, left: later }
    if (waiting) {
      waiting.reject(error)
      continue
    }
    const isUndone = state.reason !== undefined
    state.reason ??= { error }
    for (const each of later) if (each.state === state) each.waiting?.reject(error)
    return { left: [...(isUndone ? [] : rollback()), ...later.filter(each => each.state !== state)] }
  }
  return { left: [] }
}
