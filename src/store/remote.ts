import { createClient, type Client, type InStatement, type ResultSet, type Transaction as RemoteTransaction } from '@libsql/client'
import { Problem } from '../contract/errors.ts'
import { translate, type Database, type Reader, type RemoteOptions, type Value } from './database.ts'
import { attempt, createJobQueue, settle, type Job, type Outcome, type Writer } from './jobs.ts'

const mostJobsACommit = 32
/** Other machines wait for the end of a commit, and the server takes one from who holds it for 5 s. */
const mostCommitMs = 200
/** How long the server has for an answer; nobody waits longer than that for a read, or twice that for a write. */
const answerMs = 1400
const readingMs = 60_000

/** What runs statements: a client, or a transaction of one. */
interface Executing { execute(statement: InStatement): Promise<ResultSet> }

/**
 * A database on a libSQL server, which several daemons may share. A statement that is not answered in time, or a connection that
 * breaks, is DATABASE_BUSY: whether a commit that was not answered has happened is not known then, as with every server.
 */
export function openRemote({ url, token, clock }: RemoteOptions): Database {
  const line = createLine(url, token)
  const jobs = createJobQueue({ refusal: () => undefined, commitTogether: work => commitTogether(line, work, clock), mostJobsACommit })
  const snapshots = new Set<Promise<unknown>>()
  return {
    isShared: true,
    ...readerOf(statement => line.use(client => client.execute(statement))),
    noteDamage: () => { /* The server's file is the server's. */ },
    transaction: jobs.transaction,
    snapshot: work => {
      const snapshot = readSnapshot(line, work)
      snapshots.add(snapshot)
      return snapshot.finally(() => snapshots.delete(snapshot))
    },
    close: async () => {
      await Promise.all([jobs.close(), Promise.allSettled(snapshots)])
      line.close()
    },
  }
}

/** The connection to the server. One that does not answer is given up, and what comes next gets another. */
function createLine(url: string, token?: string) {
  let client: Client | undefined
  const giveUp = (one: Client) => {
    if (client === one) client = undefined
    one.close()
  }
  return {
    /** @throws Problem DATABASE_BUSY when it takes longer than the time, or the server is out of reach */
    use: async <T>(work: (client: Client) => Promise<T>, mostMs = answerMs): Promise<T> => {
      const one = client ??= createClient({ url, authToken: token, intMode: 'number', concurrency: 0 })
      const late = Symbol('late')
      let timer: NodeJS.Timeout | undefined
      try {
        const working = work(one)
        const result = await Promise.race([working, new Promise<typeof late>(resolve => { timer = setTimeout(resolve, mostMs, late) })])
        if (result !== late) return result
        working.catch(() => { /* Who waited has been told. */ })
        giveUp(one)
        throw new Problem('DATABASE_BUSY', 'The database server does not answer; try again.')
      } catch (error) {
        const problem = translate(error)
        if (problem instanceof Problem && problem.code === 'DATABASE_BUSY') giveUp(one)
        throw problem
      } finally {
        clearTimeout(timer)
      }
    },
    close: () => client?.close(),
  }
}
type Line = ReturnType<typeof createLine>

async function commitTogether(line: Line, jobs: readonly Job[], clock: () => Date): Promise<number> {
  const outcomes: Outcome[] = []
  let tried = 1
  try {
    await line.use(async client => {
      const transaction = await client.transaction('write')
      const writer = writerOf(transaction)
      try {
        const startedAt = performance.now()
        const now = clock().toISOString()
        for (tried = 0; tried < jobs.length && (tried === 0 || performance.now() - startedAt < mostCommitMs);) outcomes.push(await attempt(writer, jobs[tried++]!, now))
        await transaction.commit()
      } finally {
        transaction.close()
      }
    }, 2 * answerMs)
  } catch (error) {
    for (const job of jobs.slice(0, tried)) job.reject(error)
    return tried
  }
  for (const outcome of outcomes) settle(outcome)
  return tried
}

/** A transaction that sees one state of the database, whatever others write meanwhile. */
const readSnapshot = <T>(line: Line, work: (reader: Reader) => Promise<T>): Promise<T> => line.use(async client => {
  const transaction = await client.transaction('read')
  try {
    return await work(readerOf(statement => transaction.execute(statement)))
  } finally {
    transaction.close()
  }
}, readingMs)

function writerOf(transaction: RemoteTransaction): Writer {
  const execute = (statement: InStatement) => transaction.execute(statement)
  return {
    ...readerOf(execute),
    run: async (sql, args = []) => {
      const { rowsAffected, lastInsertRowid } = await execute({ sql, args: bind(args) }).catch(fail)
      return { changes: rowsAffected, lastId: Number(lastInsertRowid ?? 0) }
    },
    // A transaction that has ended fails the next statement, and the commit.
    exec: sql => { void execute(sql).catch(() => { /* See above. */ }) },
  }
}

function readerOf(execute: Executing['execute']): Reader {
  const all = async <T>(sql: string, args: readonly Value[] = []): Promise<T[]> => {
    const { columns, rows } = await execute({ sql, args: bind(args) }).catch(fail)
    return rows.map(row => Object.fromEntries(columns.map((column, index) => [column, row[index]])) as T)
  }
  return { all, get: async <T>(sql: string, args?: readonly Value[]) => (await all<T>(sql, args))[0] }
}

const fail = (error: unknown): never => { throw translate(error) }

/** A number that is whole travels as an integer: what is made of it, in JSON say, must not become 1.0. */
const bind = (args: readonly Value[]) => args.map(arg => {
  if (arg === undefined) return null
  if (typeof arg === 'number' && Number.isSafeInteger(arg)) return BigInt(arg)
  return typeof arg === 'boolean' ? BigInt(arg) : arg
})
