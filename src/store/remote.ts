import { createClient, type Client, type Transaction as RemoteTransaction } from '@libsql/client'
import { Problem } from '../contract/errors.ts'
import { translate, type Database, type Reader, type RemoteOptions, type Value } from './database.ts'
import { attempt, createJobQueue, settle, type Job, type Outcome, type Writer } from './jobs.ts'
import { openReadingStreams, type ReadingStreams, type Rows } from './readingStreams.ts'

const mostJobsACommit = 32
/** Other machines wait for the end of a commit, and the server takes one from who holds it for 5 s. */
const mostCommitMs = 200
/** How long the server has for an answer; and how long anybody waits for a write, in the queue and at the server. */
const answerMs = 1400
const mostWriteMs = 2800
/** What is left of that when a commit begins must be enough for one. */
const leastCommitMs = 600
const readingMs = 10 * 60_000

interface Statement { sql: string; args: Array<string | number | bigint | null> }

/**
 * A database on a libSQL server, which several daemons may share. A statement that is not answered in time, or a connection that
 * breaks, is DATABASE_BUSY: whether a commit that was not answered has happened is not known then, as with every server.
 */
export function openRemote({ url, token, host, clock }: RemoteOptions): Database {
  const writing = createLine(() => createClient({ url, authToken: token, intMode: 'number', concurrency: 0 }))
  const reading = /^wss?:/.test(url) ? createLine<ReadingStreams>(() => openReadingStreams(url, token)) : writing
  const jobs = createJobQueue({ refusal: () => undefined, commitTogether: work => commitTogether(writing, work, { host, clock }), mostJobsACommit })
  const snapshots = new Set<Promise<unknown>>()
  return {
    isShared: true,
    ...readerOf(host, statement => reading.use((line): Promise<Rows> => line.execute(statement))),
    noteDamage: () => { /* The server's file is the server's. */ },
    transaction: jobs.transaction,
    snapshot: work => {
      const snapshot = readSnapshot(writing, host, work)
      snapshots.add(snapshot)
      return snapshot.finally(() => snapshots.delete(snapshot))
    },
    close: async () => {
      await Promise.all([jobs.close(), Promise.allSettled(snapshots)])
      for (const line of [reading, writing]) line.close()
    },
  }
}

/** A connection to the server. One that does not answer is given up, and what comes next gets another. */
interface Line<C> {
  /** @throws Problem DATABASE_BUSY when it takes longer than the time, or the server is out of reach */
  use<T>(work: (connection: C) => Promise<T>, mostMs?: number): Promise<T>
  close(): void
}

function createLine<C extends { close(): void }>(open: () => C): Line<C> {
  let current: C | undefined
  const giveUp = (connection: C) => {
    if (current === connection) current = undefined
    connection.close()
  }
  return {
    use: async (work, mostMs = answerMs) => {
      const connection = current ??= open()
      let timer: NodeJS.Timeout | undefined
      const late = new Promise<never>((_, reject) => { timer = setTimeout(() => reject(new Problem('DATABASE_BUSY', 'The database server does not answer; try again.')), mostMs) })
      try {
        return await Promise.race([work(connection), late])
      } catch (error) {
        const problem = translate(error)
        if (problem instanceof Problem && problem.code === 'DATABASE_BUSY') giveUp(connection)
        throw problem
      } finally {
        clearTimeout(timer)
      }
    },
    close: () => current?.close(),
  }
}

async function commitTogether(line: Line<Client>, jobs: readonly Job[], { host, clock }: Pick<RemoteOptions, 'host' | 'clock'>): Promise<number> {
  const outcomes: Outcome[] = []
  const leftMs = jobs[0]!.queuedAtMs + mostWriteMs - performance.now()
  if (leftMs < leastCommitMs) {
    jobs[0]!.reject(new Problem('DATABASE_BUSY', 'Too many writes wait for the database server; try again.'))
    return 1
  }
  let tried = 1
  try {
    await line.use(async client => {
      const transaction = await client.transaction('write')
      const writer = writerOf(host, transaction)
      try {
        const startedAt = performance.now()
        const now = clock().toISOString()
        for (tried = 0; tried < jobs.length && (tried === 0 || performance.now() - startedAt < mostCommitMs);) outcomes.push(await attempt(writer, jobs[tried++]!, now))
        await transaction.commit()
      } finally {
        transaction.close()
      }
    }, leftMs)
  } catch (error) {
    for (const job of jobs.slice(0, tried)) job.reject(error)
    return tried
  }
  for (const outcome of outcomes) settle(outcome)
  return tried
}

/** A transaction that sees one state of the database, whatever others write meanwhile. */
const readSnapshot = <T>(line: Line<Client>, host: string, work: (reader: Reader) => Promise<T>): Promise<T> => line.use(async client => {
  const transaction = await client.transaction('read')
  try {
    return await work(readerOf(host, statement => transaction.execute(statement)))
  } finally {
    transaction.close()
  }
}, readingMs)

function writerOf(host: string, transaction: RemoteTransaction): Writer {
  const execute = (statement: Statement) => transaction.execute(statement)
  return {
    ...readerOf(host, execute),
    run: async (sql, args = []) => {
      const { rowsAffected, lastInsertRowid } = await execute({ sql, args: bind(args) }).catch(fail)
      return { changes: rowsAffected, lastId: Number(lastInsertRowid ?? 0) }
    },
    // A transaction that has ended fails the next statement, and the commit.
    exec: sql => { void execute({ sql, args: [] }).catch(() => { /* See above. */ }) },
  }
}

function readerOf(host: string, execute: (statement: Statement) => Promise<Rows>): Reader {
  const all = async <T>(sql: string, args: readonly Value[] = []): Promise<T[]> => {
    const { columns, rows } = await execute({ sql, args: bind(args) }).catch(fail)
    return rows.map(row => Object.fromEntries(columns.map((column, index) => [column, row[index]])) as T)
  }
  return { host, all, get: async <T>(sql: string, args?: readonly Value[]) => (await all<T>(sql, args))[0] }
}

const fail = (error: unknown): never => { throw translate(error) }

/** A number that is whole travels as an integer: what is made of it, in JSON say, must not become 1.0. */
const bind = (args: readonly Value[]): Statement['args'] => args.map(arg => {
  if (arg === undefined) return null
  if (typeof arg === 'number' && Number.isSafeInteger(arg)) return BigInt(arg)
  return typeof arg === 'boolean' ? BigInt(arg) : arg
})
