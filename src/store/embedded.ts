import LibsqlDatabase from 'libsql'
import { chmodSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { Problem } from '../contract/errors.ts'
import { translate, type Database, type DatabaseOptions, type Reader, type Transaction, type Value } from './database.ts'

const mostJobsACommit = 128
const busyWaitMs = 200

interface Job { work: (tx: Transaction) => Promise<unknown>; resolve: (result: unknown) => void; reject: (error: unknown) => void }
type Outcome = { job: Job; result: unknown; effects: Array<() => void> } | { job: Job; error: unknown }

/**
 * One libSQL file: a connection that only reads, and one that only writes, behind one queue.
 * Jobs that wait at the same time share a commit, and so a sync to disk; each is undone alone when it fails.
 */
export function openEmbedded({ path, clock }: DatabaseOptions): Database {
  const writer = openWriter(path, clock)
  chmodSync(path, 0o600)
  const reader = openConnection(path)
  reader.exec('PRAGMA query_only = ON')
  const queue: Job[] = []
  let draining: Promise<void> | undefined
  const snapshots = new Set<Promise<unknown>>()
  let closing = false

  const drain = async () => {
    await new Promise(setImmediate)
    while (queue.length > 0) await writer.commitTogether(queue.splice(0, mostJobsACommit))
    draining = undefined
  }
  return {
    get: reader.get,
    all: reader.all,
    transaction: <T>(work: (tx: Transaction) => Promise<T>) => new Promise<T>((resolve, reject) => {
      if (closing) return reject(new Problem('SHUTTING_DOWN'))
      queue.push({ work, resolve: resolve as (result: unknown) => void, reject })
      draining ??= drain()
    }),
    snapshot: async work => {
      if (closing) throw new Problem('SHUTTING_DOWN')
      const snapshot = readSnapshot(path, () => closing, work)
      snapshots.add(snapshot)
      return snapshot.finally(() => snapshots.delete(snapshot))
    },
    close: async () => {
      closing = true
      await Promise.allSettled(snapshots)
      await draining
      reader.close()
      writer.close()
    },
  }
}

/** A connection of its own in one read transaction, which its first query begins. It ends early when the database closes. */
async function readSnapshot<T>(path: string, isClosing: () => boolean, work: (reader: Reader) => Promise<T>): Promise<T> {
  const connection = openConnection(path)
  const unlessClosing = <R>(read: () => Promise<R>) => {
    if (isClosing()) throw new Problem('SHUTTING_DOWN')
    return read()
  }
  try {
    connection.exec('PRAGMA query_only = ON')
    connection.exec('BEGIN')
    await connection.get('SELECT 1 FROM sqlite_schema LIMIT 1')
    return await work({ get: async (sql, args) => unlessClosing(() => connection.get(sql, args)), all: async (sql, args) => unlessClosing(() => connection.all(sql, args)) })
  } finally {
    connection.close()
  }
}

function openWriter(path: string, clock: () => Date): { commitTogether(jobs: Job[]): Promise<void>; close(): void } {
  let connection = openConnection(path)
  // A connection on which a statement was refused may acknowledge later writes without committing them.
  const reopen = () => {
    try { connection.exec('ROLLBACK') } catch { /* no transaction was open */ }
    connection.close()
    connection = openConnection(path)
  }
  return {
    commitTogether: async jobs => {
      const outcomes: Outcome[] = []
      try {
        await begin(connection)
        for (const job of jobs) outcomes.push(await attempt(connection, job, clock))
        connection.exec('COMMIT')
      } catch (error) {
        reopen()
        for (const job of jobs) job.reject(translate(error))
        return
      }
      for (const outcome of outcomes) settle(outcome)
    },
    close: () => {
      connection.exec('PRAGMA optimize')
      connection.close()
    },
  }
}

/** Waits a while for another process that holds the file. */
async function begin(connection: Connection): Promise<void> {
  const giveUpAt = performance.now() + busyWaitMs
  for (;;) {
    try {
      return connection.exec('BEGIN IMMEDIATE')
    } catch (error) {
      if (!String((error as { code?: string }).code).startsWith('SQLITE_BUSY') || performance.now() > giveUpAt) throw error
      await delay(10)
    }
  }
}

interface Connection extends Reader {
  run(sql: string, args?: readonly Value[]): Promise<{ changes: number; lastId: number }>
  exec(sql: string): void
  close(): void
}

function openConnection(path: string): Connection {
  const database = new LibsqlDatabase(path)
  database.exec('PRAGMA journal_mode = WAL')
  database.exec('PRAGMA synchronous = FULL')
  database.exec('PRAGMA foreign_keys = ON')
  database.exec('PRAGMA cache_size = -16000')
  database.exec('PRAGMA temp_store = MEMORY')
  const statements = new Map<string, LibsqlDatabase.Statement>()
  const prepare = (sql: string) => {
    let statement = statements.get(sql)
    if (!statement) statements.set(sql, statement = database.prepare(sql))
    return statement
  }
  return {
    get: async <T>(sql: string, args: readonly Value[] = []) => prepare(sql).get(bind(args)) as T | undefined,
    all: async <T>(sql: string, args: readonly Value[] = []) => prepare(sql).all(bind(args)) as T[],
    run: async (sql, args = []) => {
      const { changes, lastInsertRowid } = prepare(sql).run(bind(args))
      return { changes, lastId: Number(lastInsertRowid) }
    },
    exec: sql => { database.exec(sql) },
    close: () => { database.close() },
  }
}

/** The engine aborts the process on a boolean or an object. */
const bind = (args: readonly Value[]) => args.map(arg => {
  if (typeof arg === 'boolean') return arg ? 1 : 0
  if (arg === undefined) return null
  if (arg !== null && typeof arg === 'object') throw new TypeError('A parameter must be text, a number, a boolean or null.')
  return arg
})

async function attempt(writer: Connection, job: Job, clock: () => Date): Promise<Outcome> {
  const effects: Array<() => void> = []
  writer.exec('SAVEPOINT job')
  try {
    const result = await job.work({ get: writer.get, all: writer.all, run: writer.run, now: clock().toISOString(), afterCommit: effect => effects.push(effect) })
    writer.exec('RELEASE job')
    return { job, result, effects }
  } catch (error) {
    const reason = translate(error)
    if (reason instanceof Problem && reason.status === 503) throw error
    writer.exec('ROLLBACK TO job')
    writer.exec('RELEASE job')
    return { job, error: reason }
  }
}

function settle(outcome: Outcome): void {
  if ('error' in outcome) return outcome.job.reject(outcome.error)
  for (const effect of outcome.effects) effect()
  outcome.job.resolve(outcome.result)
}
